"""What an old piece or network becomes in the new stack, wrapped or native, one step a piece."""
