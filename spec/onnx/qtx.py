"""The program `qtx`, called by the scripts of this folder."""
import subprocess
import sys


def attempt(program, *arguments):
    """The finished process; ends the script where there is no such program."""
    try:
        return subprocess.run([program, *arguments], capture_output=True, text=True)
    except OSError as error:
        sys.exit(f"{program}: {error.strerror}; the program `qtx` was expected")


def run(program, *arguments):
    """Its standard output; ends the script with what it said where it fails."""
    process = attempt(program, *arguments)
    if process.returncode:
        sys.exit(f"qtx {' '.join(map(str, arguments))}: status {process.returncode}: {process.stderr.strip()}")
    return process.stdout
