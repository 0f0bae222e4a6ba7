"""The chart of `benchmarks/table.py`: how many times as long others take, light and dark."""

import math
from html import escape

STYLE = """<style>
text{font:13px system-ui,sans-serif;fill:#1c2330}.tick{font-size:11px;fill:#5b6675}
.ray{fill:#3a6fb8}.ours{stroke:#1c2330;stroke-width:1.5}.grid{stroke:#dfe4ea}
.limit{fill:#fff;stroke:#c8792f;stroke-width:2.5}
@media(prefers-color-scheme:dark){text{fill:#e7ebf0}.tick{fill:#9aa6b4}.ray{fill:#7fb0f0}
.ours{stroke:#e7ebf0}.grid{stroke:#313a46}.limit{fill:#14181e;stroke:#f0a860}}
</style>"""
LEFT, WIDTH, TOP, TALL = 310, 440, 46, 26


def ratio_bars(rows):
    """Bars for Ray and rings for the limit, on an axis of powers, ours at 1.

    Args:
        rows: By name: "ray" and "limit", in times of ours; None where there is none.
    """
    ratios = [row[kind] for row in rows.values() for kind in ("ray", "limit") if row[kind]]
    low = min(math.floor(math.log10(min(ratios))), -1)
    high = math.log10(max(*ratios, 10)) + 0.22  # room for the number at the end
    height = TOP + TALL * len(rows) + 10

    def across(ratio):
        return LEFT + WIDTH * (math.log10(ratio) - low) / (high - low)

    parts = []
    for power in range(low, math.floor(high) + 1):
        x = across(10.0**power)
        kind = "grid" if power else "ours"
        parts.append(
            f'<line class="{kind}" x1="{x:.1f}" y1="{TOP - 6}" x2="{x:.1f}" y2="{height - 8}"/>'
            f'<text class="tick" x="{x:.1f}" y="{TOP - 12}" text-anchor="middle">'
            f"{f'{10.0**power:g} x' if power else 'rlconnect'}</text>"
        )
    for number, (name, row) in enumerate(rows.items()):
        top = TOP + number * TALL
        said = ", ".join(f"{kind} {row[kind]:.2g} x" for kind in ("ray", "limit") if row[kind])
        parts.append(f"<g><title>{escape(name)}: {said}</title>")
        parts.append(
            f'<text x="{LEFT - 12}" y="{top + 15}" text-anchor="end">{escape(name)}</text>'
        )
        if row["ray"]:
            begin, end = sorted((across(1.0), across(row["ray"])))
            parts.append(
                f'<rect class="ray" x="{begin:.1f}" y="{top + 3}" width="{end - begin:.1f}" '
                f'height="{TALL - 9}" rx="2"/><text class="tick" x="{end + 8:.1f}" y="{top + 15}">'
                f"{row['ray']:.2g} x</text>"
            )
        if row["limit"]:
            parts.append(
                f'<circle class="limit" cx="{across(row["limit"]):.1f}" cy="{top + 11.5}" r="4.5"/>'
            )
        parts.append("</g>")
    legend = (
        f'<rect class="ray" x="{LEFT}" y="4" width="14" height="10" rx="2"/>'
        f'<text class="tick" x="{LEFT + 20}" y="13">Ray takes so many times as long</text>'
        f'<circle class="limit" cx="{LEFT + 217}" cy="9" r="4.5"/>'
        f'<text class="tick" x="{LEFT + 228}" y="13">the same work written bare</text>'
    )
    width = LEFT + WIDTH + 10
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" aria-label="Time of Ray and of the bare limit in times '
        f'of rlconnect">{STYLE}{legend}{"".join(parts)}</svg>\n'
    )
