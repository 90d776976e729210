"""Folds the samples that scripts/flame recorded, and draws them as a flame graph, as SVG on stdout."""

import re
import sys
from collections import Counter
from html import escape

WIDTH, LEFT, ROW, TOP, LETTER = 1200, 10, 17, 78, 6.3  # pixels
THREADS = {"zklock": "zklock", "true": "the command"}
COLOURS = {"zklock": ("#2c6e8f", "#ffffff"), "crates": ("#9cc3d5", "#1d1d1d"), "libc": ("#d5d2c8", "#1d1d1d"),
           "kernel": ("#e3a869", "#1d1d1d"), "thread": ("#4a4a46", "#ffffff")}
LEGEND = (("zklock", "zklock"), ("crates", "its libraries"), ("libc", "libc and dynamic linker"), ("kernel", "kernel"))
# Frames that are on every stack of their kind and say nothing.
DULL = re.compile(r"^(_start|_dl_start_user|__libc_start_\w+|main|start_thread|_*clone3?|\[unknown\]|do_syscall_64|x64_sys_call"
                  r"|entry_SYSCALL_64\w*|ret_from_fork\w*|asm_\w+|exc_\w+|.*call_once.*|std::sys::backtrace::.*|std::rt::.*"
                  r"|std::panicking::.*|std::panic::.*|__rust_try|.*::thread_start|std::thread::.*)$")
DEEP = 6  # so many functions of the kernel are enough to see what it does
ENDS = re.compile(r"^(_start|_*clone3?|start_thread|entry_SYSCALL_64\w*|ret_from_fork\w*|asm_\w+)$")
# What only a recorded process does.
PERF = re.compile(r"^(__)?perf_")

samples, runs, folded = open(sys.argv[1], errors="replace"), int(sys.argv[2]), sys.argv[3]


def short(symbol):
    """A Rust path without generic arguments, `<A as B>::f` as `A::f`."""
    symbol = re.sub(r"(::h[0-9a-f]{16}|\+0x\w+|@+GLIBC\S*)$|::\{[^}]*\}+|\.(constprop|isra|part|cold|llvm)[\d.]*", "", symbol)
    symbol = re.sub(r"<impl [^<>]* for ([\w:]+)[^<>]*>", r"\1", symbol)
    while True:
        # From the inside out: what implements a trait stays, generic arguments go.
        bare = re.sub(r"(?<![\w:])_?<(?:dyn |&mut |&)*([\w:]+)(?: as [^<>]*)?>(?=::)|(?:::)?<[^<>]*>", r"\1", symbol)
        if bare == symbol:
            return symbol.strip(":<") or "?"
        symbol = bare


def kind(symbol, file):
    if "[kernel" in file or file == "[vdso]":
        return "kernel"
    if re.search(r"/(ld-|lib)[^/]*\.so", file):
        return "libc"
    return "zklock" if symbol.startswith("zklock::") else "crates"


def group(symbols, file, sort):
    """A name for stacks that don't begin in zklock or a library: without it, each of them would be a tower of its own."""
    if "/ld-linux" in file:
        return [("dynamic linker", "libc")]
    if sort == "kernel":
        return [("exec, exit and faults", "kernel")]
    if sort != "zklock" and any(symbol.startswith("std::rt::") for symbol in symbols):
        return [("Rust runtime", "crates")]
    if sort != "libc":
        return []
    return [("libc, at start and end", "libc")]


stacks, complete, seen = Counter(), Counter(), Counter()
for block in samples.read().split("\n\n"):
    head, *frames = block.strip().splitlines() or [""]
    found = re.match(r"^\s*(.+?)\s+\d+/\d+\s+(\d+)", head)
    # The recording shell and the half of an exec before the new program's name aren't zklock's.
    if not found or found[1] in ("bash", "perf", "perf-exec"):
        continue
    stack, symbols, files = [], [], []
    for frame in reversed(frames):
        frame = re.match(r"^\s*[0-9a-f]+ (.*) \((.*)\)$", frame)
        if not frame:
            continue
        symbols.append(symbol := short(frame[1]))
        if not DULL.match(symbol):
            stack.append((symbol, kind(symbol, frame[2])))
            files.append(frame[2])
    if any(PERF.match(symbol) for symbol, _ in stack):
        continue
    deep = [at for at, (_, sort) in enumerate(stack) if sort == "kernel"][DEEP:]
    stack = stack[:deep[0]] if deep else stack
    thread = re.sub(r" of\b.*", "", found[1])
    thread, weight = (THREADS.get(thread, thread), "thread"), int(found[2])
    seen[thread] += weight
    # perf can't follow the stacks of some processes to their end: the others stand for these.
    if symbols and (ENDS.match(symbols[0]) or stack and stack[0][1] == "zklock"):
        if stack:
            stack = group(symbols, files[0], stack[0][1]) + stack
        stacks[(thread, *stack)] += weight
        complete[thread] += weight
for stack in stacks:
    stacks[stack] = round(stacks[stack] * seen[stack[0]] / complete[stack[0]])
total = sum(stacks.values())
if not total:
    sys.exit("perf recorded no samples of zklock")
print(f"{complete.total() / seen.total():.0%} of the stacks are complete", file=sys.stderr)
with open(folded, "w") as file:
    for stack, weight in sorted(stacks.items()):
        file.write(";".join(symbol for symbol, _ in stack) + f" {weight}\n")


class Frame:
    def __init__(self):
        self.weight, self.above = 0, {}


ground = Frame()
for stack, weight in stacks.items():
    frame = ground
    frame.weight += weight
    for step in stack:
        frame = frame.above.setdefault(step, Frame())
        frame.weight += weight

boxes, scale = [], (WIDTH - 2 * LEFT) / total


def place(frame, start, level):
    for (symbol, sort), child in sorted(frame.above.items(), key=lambda item: (-item[1].weight, item[0])):
        if child.weight * scale >= 2:  # pixels; what is thinner can't be seen
            boxes.append((symbol, sort, start, child.weight, level))
            place(child, start, level + 1)
        start += child.weight


place(ground, 0, 0)
height = TOP + ROW * (1 + max(level for *_, level in boxes)) + 12
style = "".join(f".{sort} rect,rect.{sort}{{fill:{back}}}.{sort} text{{fill:{front}}}" for sort, (back, front) in COLOURS.items())
print(f'''<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" role="img" aria-label="Flame graph: the processor time of zklock around true, by thread and function" font-family="system-ui, sans-serif" font-size="11" fill="#2f2f2f">
<style>{style}</style>
<rect width="100%" height="100%" rx="8" fill="#f4f3ef"/>
<text x="{LEFT}" y="24" font-size="13" font-weight="600">zklock around true: {total / runs / 1e6:.1f} ms of processor time, from {runs} runs</text>''')
x = LEFT
for sort, label in LEGEND:
    print(f'<rect class="{sort}" x="{x}" y="36" width="14" height="12" rx="2"/><text x="{x + 20}" y="46">{label}</text>')
    x += 40 + round(LETTER * len(label))
print(f'<text x="{LEFT}" y="66">Each box is a function. Its width is the time spent in it and in the functions above it, which it called. Numbers are microseconds per run.</text>')
for symbol, sort, start, weight, level in boxes:
    x, y, wide = LEFT + start * scale, height - 12 - ROW * (level + 1), weight * scale
    time = f"{weight / runs / 1e3:.0f}"
    fits, name = int((wide - 4) / LETTER), "::".join(symbol.split("::")[-2:])
    label = next((text for text in (f"{name} {time}", name, symbol.split("::")[-1]) if len(text) <= fits), "")
    if not label and fits >= 5:
        label = name.split("::")[-1][:fits - 1] + "…"
    text = f'<text x="{x + 2:.1f}" y="{y + 12}">{escape(label)}</text>' if label else ""
    print(f'<g class="{sort}"><title>{escape(symbol)}: {time} µs, {weight / total:.1%}</title>'
          f'<rect x="{x:.1f}" y="{y}" width="{max(wide - 0.5, 0.5):.1f}" height="{ROW - 1}"/>{text}</g>')
print("</svg>")
