"""Runs the examples of pages, and compares their output with the page, for scripts/check-docs.

Usage: check.py SERVER DIRECTORY PAGE...

Each page becomes a script for bash, in a directory of its own below DIRECTORY. What is skipped goes into DIRECTORY/skipped.
"""

import difflib
import os
import pathlib
import pwd
import re
import shlex
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).parents[2]
HEX = "[0-9a-f]"
# Values that differ each time, in the page and in the output, so that a page can show real ones. Units of time stay.
VARYING = [
    (rf"\b{pwd.getpwuid(os.getuid()).pw_name}\b", "root"),
    (rf"_c_{HEX}{{8}}-({HEX}{{4}}-{HEX}{{4}}-{HEX}{{4}}-{HEX}{{12}}|…)-", "_c_UUID-"),
    (rf"\b{HEX}{{32}}__", "HEX__"),
    (r"(lock-|__)[0-9]{10}\b", r"\1NUMBER"),
    (rf"\b0x{HEX}+\b", "0xSESSION"),
    (r"\b20[0-9]{2}-[0-9]{2}-[0-9]{2}[T ][0-9:]{8}(\.[0-9]+)?Z", "TIME"),
    (r"\b[0-9]+(\.[0-9]+)? (ms|s|min|h)\b", r"NUMBER \2"),
    (r"(busy: .*\))(, which has held it)? for NUMBER (s|min|h).*", r"\1"),
    (r"\b127\.0\.0\.1:[0-9]{4,5}(/[A-Za-z_-]+_md)?\b", "ADDRESS"),
    (r"\b(localhost|[A-Za-z0-9-]*[A-Za-z][A-Za-z0-9.-]*):[0-9]+\b", "HOST:PID"),
    (r"\bPID [0-9]+", "PID"),
    (r"(NUMBER (ms|s|min|h) ago on) [^ ,\n]+", r"\1 HOST"),
    (r'"pid": ?[0-9]+', '"pid": PID'),
    (r'"host": ?"[^"]+"', '"host": "HOST"'),
    (r'(fencing_token": ?|FENCING_TOKEN=|token |older than |"token":)[0-9]+', r"\1TOKEN"),
    (r'"(waited|held_for|queued_for)":[0-9.]+', r'"\1":SECONDS'),
    (r"(TIME|-) +[0-9]+ +0xSESSION", r"\1 TOKEN 0xSESSION"),
    (r"(?m)[|][0-9]+$", "|TOKEN"),
    (r"\bZooKeeper [0-9]+\.[0-9.]+,", "ZooKeeper VERSION,"),
    (r'"version": "[0-9.]+"', '"version": "VERSION"'),
    (r'(round_trip_ms|rides_out|smallest_session_timeout)": [0-9.]+', r'\1": NUMBER'),
    (r"  +", " "),
    (r"(?m) $", ""),
]


def normalised(text):
    for pattern, value in VARYING:
        text = re.sub(pattern, value, text)
    return text.splitlines(keepends=True)


def until(lines, end):
    """The lines before the next that begins with `end`."""
    block = []
    for _, line in lines:
        if line.startswith(end):
            return block
        block.append(line)
    raise ValueError(f"the page ends before {end}")


def example(block, number):
    """The script of a block: its commands, each after what the page shows of it."""
    commands, continues = [], False
    for line in block:
        continues = line.startswith("$ ") or (continues and line.startswith("> "))
        if line.startswith("$ "):
            commands.append([])
        if continues:
            commands[-1].append(line)
    parts = [f"printf '%s\\n' {shlex.join(lines)}\n" + "\n".join(line[2:] for line in lines) for lines in commands]
    return "{\n" + "\n".join(parts) + f'\n}} >"$directory/{number}.actual" 2>&1'


def setup(place, commands):
    return f'setup={shlex.quote(place)}; {{\n{commands}\n}} >"$directory/setup.log" 2>&1 || exit 1; setup='


def file(name, block):
    name, text = shlex.quote(name), shlex.quote("\n".join(block))
    return f'mkdir -p "$(dirname {name})"; echo {text} >{name}; ! grep -q "^#!" {name} || chmod +x {name}'


def read(page):
    """The script of a page, its examples as places and outputs, and the places of those that are skipped."""
    script, examples, skipped, mark = [], [], [], None
    lines = enumerate((ROOT / page).read_text("utf-8").splitlines(), 1)
    for number, line in lines:
        if line.startswith("<!-- setup"):
            one = re.fullmatch(r"<!-- setup: (.*) -->", line)
            script.append(setup(f"{page}:{number}", one[1] if one else "\n".join(until(lines, "-->"))))
        elif found := re.fullmatch(r"<!-- (?:(run)(?: if (\S+))?|(file) (\S+)) -->", line):
            mark = found
        elif re.match(r"<!--.*(run|setup|file)", line):
            raise ValueError(f"{page}:{number}: unknown comment; see scripts/check-docs --help")
        elif line.startswith("```"):
            block = until(lines, re.match("`+", line)[0])
            if mark and mark[1] and line != "```console":
                raise ValueError(f"{page}:{number}: only a ```console block can be run")
            if mark and mark[3]:
                script.append(file(mark[4], block))
            elif mark and mark[2] and not shutil.which(mark[2]):
                skipped.append(f"{page}:{number}")
            elif mark:
                script.append(example(block, len(examples)))
                examples.append((f"{page}:{number}", "".join(line + "\n" for line in block)))
            mark = None
        elif mark and line:
            raise ValueError(f"{page}:{number}: a block must follow the comment")
    name = "readme" if page == "README.md" else pathlib.Path(page).stem
    own = ROOT / f"scripts/docs/{name}.sh"
    if own.exists():
        script.append(setup(str(own), f"source {shlex.quote(str(own))}"))
    return script, examples, skipped


def differs(place, expected, actual):
    """Whether the output isn't that of the page. Says how."""
    shown, printed = normalised(expected), normalised(actual)
    # On a busy machine, what usually takes milliseconds may take seconds.
    if [line.replace("NUMBER ms", "NUMBER s") for line in shown] == [line.replace("NUMBER ms", "NUMBER s") for line in printed]:
        return False
    difference = "".join(difflib.unified_diff(shown, printed, "the page", "the output"))
    print(f"{place}: the output differs from the page:\n{difference}the whole output:\n{actual}", file=sys.stderr)
    return True


def is_fine(server, work, page):
    script, examples, skipped = read(page)
    with (work / "skipped").open("a") as file:
        file.writelines(place + "\n" for place in skipped)
    if not script:
        return True
    directory = work / re.sub("[/.]", "_", page)
    (directory / "home").mkdir(parents=True)
    # A chroot for the page. A record of a success in it keeps the server from removing it while it is empty.
    record = ["zklock", "-z", server, "-q", "-E", "0", "--once-per", "3600", f"/{directory.name}/page", "--", "true"]
    subprocess.run(record, check=True)
    python = ROOT / ".tools/venv/bin/python"
    has_yaml = python.exists() and not subprocess.run([python, "-c", "import yaml"], stderr=subprocess.DEVNULL).returncode
    variables = {"directory": directory, "holders": directory / "holders", "skipped": work / "skipped"}
    variables |= {"python": python if has_yaml else "python3", "root": ROOT}
    head = [f"{name}={shlex.quote(str(value))}" for name, value in variables.items()]
    # The exit code of the last example doesn't count.
    parts = [*head, 'source "$root/scripts/docs/page-shell"', *script, "exit 0", ""]
    (directory / "script").write_text("\n".join(parts), "utf-8")
    environment = os.environ | {"ZKLOCK_ZOOKEEPER": f"{server}/{directory.name}", "HOME": str(directory / "home")}
    environment.pop("XDG_CONFIG_HOME", None)
    shell = ["timeout", "--foreground", "180", "bash", directory / "script"]
    # Not a pipe, which a process that the page has left would keep open.
    with (directory / "output").open("w") as output:
        code = subprocess.call(shell, cwd=directory / "home", env=environment, stdin=subprocess.DEVNULL,
                               stdout=output, stderr=output)
    if code:
        print(f"{page}: its shell ended with {code}:\n{(directory / 'output').read_text('utf-8')}", file=sys.stderr)
    wrong = code != 0
    for number, (place, expected) in enumerate(examples):
        output = directory / f"{number}.actual"
        wrong |= differs(place, expected, output.read_text("utf-8") if output.exists() else "(it was not run)\n")
    # No contender may be left in a queue; records of successes may be.
    left = subprocess.run(["zklock", "-q", "status", "--json"], env=environment, stdout=subprocess.PIPE, text=True)
    if '"state"' in left.stdout:
        wrong = True
        print(f"{page}: a contender is left in a queue:\n{left.stdout}", file=sys.stderr)
    print(f"{page:<28} {len(examples):3} examples", flush=True)
    return not wrong


if __name__ == "__main__":
    failed = [page for page in sys.argv[3:] if not is_fine(sys.argv[1], pathlib.Path(sys.argv[2]), page)]
    sys.exit(f"examples fail in: {', '.join(failed)}; see scripts/check-docs --help" if failed else 0)
