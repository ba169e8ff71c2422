# SPDX-License-Identifier: MIT
"""screen.py - a terminal in tmux with a shell: sends keys, reads the screen."""
from live import *


class Screen:
    opened = 0

    def __init__(self, dir, width=110, height=24, env=None):
        Screen.opened += 1
        self.socket = os.path.join(dir, f"tmux{Screen.opened}")
        self.env = dict(os.environ, **(env or {}))
        self.env.pop("TMUX", None)
        # A shell that prints only the output of its commands.
        start = "stty -echoctl; PS1='shell>' exec bash --norc --noprofile -i"
        p = subprocess.run(["tmux", "-S", self.socket, "-f", "/dev/null", "new-session", "-d", "-x", str(width), "-y", str(height), start],
                           env=self.env, capture_output=True, text=True, check=False, cwd=dir)
        if p.returncode:
            raise AssertionError(f"no tmux: {p.stderr}")
        self.wait("shell>")

    def tmux(self, *args):
        return subprocess.run(["tmux", "-S", self.socket, *args], capture_output=True, text=True, check=True, timeout=300).stdout

    def keys(self, *keys):
        self.tmux("send-keys", *keys)

    def type(self, text):
        self.tmux("send-keys", "-l", text)

    def lines(self, colors=False):
        return self.tmux("capture-pane", "-p", *(["-e"] if colors else [])).split("\n")

    def text(self):
        return "\n".join(self.lines())

    def wait(self, *parts, without=()):
        """Wait until all of the parts are on the screen, and no part of without."""
        def there():
            text = self.text()
            return text if all(p in text for p in parts) and not any(p in text for p in without) else None
        try:
            return wait_until(there, f"{parts}")
        except AssertionError as why:
            raise AssertionError(f"{why}; without {without}; on the screen:\n{self.text()}") from None

    def wait_any(self, *parts):
        """Wait until one of the parts is on the screen."""
        try:
            wait_until(lambda: any(p in self.text() for p in parts), f"one of {parts}")
        except AssertionError as why:
            raise AssertionError(f"{why}; on the screen:\n{self.text()}") from None

    def run(self, *command):
        self.type(words(*command))
        self.keys("Enter")

    def resize(self, width, height):
        self.tmux("resize-window", "-x", str(width), "-y", str(height))

    def state(self):
        """What a program must restore: modes of the terminal, the screen, the cursor."""
        return self.tmux("display-message", "-p", "#{alternate_on} #{cursor_flag} #{keypad_flag} #{keypad_cursor_flag} #{wrap_flag} #{insert_flag}").strip()

    def modes(self):
        """The terminal's modes, as stty prints them in the shell."""
        self.run("sh", "-c", "stty -g; echo told")
        text = self.wait("told\nshell>")
        self.run("clear")
        self.wait("shell>", without=["told"])
        return re.findall(r"^[0-9a-f:]{40,}$", text.replace("\n", ""), re.M) or re.findall(r"[0-9a-f]+(?::[0-9a-f]+){10,}", text)

    def close(self):
        subprocess.run(["tmux", "-S", self.socket, "kill-server"], capture_output=True, check=False)
