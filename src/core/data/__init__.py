"""Values as plain data and back, each checked: what files hold and what may be taken over."""
