"""Draws the history that scripts/picture recorded: a lane for each contender, as SVG on stdout."""

import sys

START, LANE, TOP, SCALE = 92, 46, 62, 190.0  # pixels; SCALE is for a second
events = sorted((int(time), host, what) for time, host, what in
                (line.rstrip("\n").split(" ", 2) for line in open(sys.argv[1])))
zero = events[0][0]
hosts = sorted({host for _, host, _ in events if host != "-"})

def when(host, words):
    found = [time for time, other, what in events if other == host and words in what]
    if not found:
        sys.exit(f"{host} never printed '{words}'")
    return (found[0] - zero) / 1e6

lanes = {host: {name: when(host, words) for name, words in
                (("queued", ": queued as"), ("acquired", ": acquired after"), ("begin", "begin"), ("end", "end"),
                 ("released", ": released"))} for host in hosts}
order = sorted(hosts, key=lambda host: lanes[host]["begin"])
for before, after in zip(order, order[1:]):
    if lanes[after]["begin"] < lanes[before]["end"]:
        sys.exit(f"{before} and {after} overlapped: the lock did not hold")

last = max(lane["released"] for lane in lanes.values())
width, bottom = round(START + last * SCALE + 40), TOP + LANE * len(order)
x = lambda seconds: round(START + seconds * SCALE, 1)
print(f'''<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {bottom + 44}" width="{width}" height="{bottom + 44}" role="img" aria-label="Four contenders of one lock over time: each waits for its predecessor and runs when that has ended" font-family="system-ui, sans-serif" font-size="13">
<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0.5 8 4 0 7.5z" fill="#b3530f"/></marker></defs>
<rect width="100%" height="100%" rx="8" fill="#f4f3ef"/>
<g fill="#2f2f2f">
<text x="{START}" y="24" font-weight="600">zklock -v {"/locks/job"} -- job</text>
<rect x="{START}" y="35" width="14" height="12" rx="2" fill="#d5d2c8"/><text x="{START + 20}" y="46">in the queue</text>
<rect x="{START + 116}" y="35" width="14" height="12" rx="2" fill="#2c6e8f"/><text x="{START + 136}" y="46">runs its job</text>
<path d="M{START + 226} 41h20" stroke="#b3530f" stroke-width="2" marker-end="url(#tip)"/><text x="{START + 254}" y="46">from the end of one job to the start of the next</text>
</g>''')
for second in range(int(last) + 1):
    print(f'<path d="M{x(second)} {TOP}V{bottom + 6}" stroke="#dcd9d0"/>'
          f'<text x="{x(second)}" y="{bottom + 22}" text-anchor="middle" fill="#5c5a54">{second} s</text>')
for row, host in enumerate(order):
    lane, y = lanes[host], TOP + LANE * row + 8
    print(f'<text x="{START - 12}" y="{y + 17}" text-anchor="end" fill="#2f2f2f">{host}</text>')
    print(f'<rect x="{x(lane["queued"])}" y="{y + 4}" width="{max(x(lane["begin"]) - x(lane["queued"]), 0):.1f}" height="18" rx="3" fill="#d5d2c8"/>')
    print(f'<rect x="{x(lane["begin"])}" y="{y}" width="{x(lane["end"]) - x(lane["begin"]):.1f}" height="26" rx="3" fill="#2c6e8f"/>')
    print(f'<text x="{(x(lane["begin"]) + x(lane["end"])) / 2:.1f}" y="{y + 17}" text-anchor="middle" fill="#ffffff">{lane["end"] - lane["begin"]:.1f} s</text>')
for row, (before, after) in enumerate(zip(order, order[1:])):
    end, begin, y = lanes[before]["end"], lanes[after]["begin"], TOP + LANE * row + 34
    print(f'<path d="M{x(end)} {y}L{x(begin)} {y + LANE - 27}" stroke="#b3530f" stroke-width="2" fill="none" marker-end="url(#tip)"/>')
    print(f'<text x="{x(begin) + 8}" y="{y + 13}" fill="#b3530f" font-weight="600">{(begin - end) * 1000:.0f} ms</text>')
print("</svg>")
