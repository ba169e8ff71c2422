# SPDX-License-Identifier: MIT
"""servers.py - real PostgreSQL and MariaDB servers with temporary data directories.

Each listens on loopback and on its own socket, runs as a user other than root (PostgreSQL
requires that), and is killed by its pid at the end.  Skip("why") without the packages.
"""
import atexit
import ctypes
import glob
import os
import pwd
import shutil
import signal
import subprocess
import tempfile

from harness import KEPT, Skip, wait_until
from ports import free_port

PASSWORD = "it's \\ \"secret\""
NOBODY = "nobody"


def find(*names):
    for name in names:
        # Debian's psql in PATH is a script in Perl, which takes longer to start than psql.
        for path in [*sorted(glob.glob(f"/usr/lib/postgresql/*/bin/{name}"), reverse=True), shutil.which(name), f"/usr/sbin/{name}"]:
            if path and os.access(path, os.X_OK):
                return path
    raise Skip(f"no {names[0]} here")


def fast_folder():
    """In memory if there is room: a database of a few rows is hundreds of files to create and to remove."""
    try:
        return "/dev/shm" if shutil.disk_usage("/dev/shm").free >= 1 << 29 else "/tmp"
    except OSError:
        return "/tmp"


def unprivileged():
    """Popen's arguments to run as the user nobody, if this process is root."""
    if os.getuid() != 0:
        return {}
    user = pwd.getpwnam(NOBODY)
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}


def die_with_parent():
    """A killed test leaves no server.  Called after the change of user, which would reset the setting."""
    PR_SET_PDEATHSIG = 1
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGQUIT, 0, 0, 0)


class Server:
    def __init__(self):
        # Short: a socket path has at most 107 characters.
        self.dir = tempfile.mkdtemp(prefix="ct-db-", dir=fast_folder())
        self.data, self.log = self.dir + "/data", self.dir + "/log"
        self.port = free_port()
        self.process = None
        if os.getuid() == 0:
            shutil.chown(self.dir, NOBODY)
        os.chmod(self.dir, 0o755)
        atexit.register(self.remove)

    def run(self, *args, **kwargs):
        kwargs.setdefault("check", True)
        return subprocess.run(args, cwd=self.dir, capture_output=True, text=True, **unprivileged(), **kwargs)

    def start(self):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(self.command(), cwd=self.dir, stdin=subprocess.DEVNULL, stdout=log,
                                            stderr=log, preexec_fn=die_with_parent, **unprivileged())
        KEPT.add(self.process.pid)
        wait_until(self.answers, f"an answer of {self.command()[0]}")

    def answers(self):
        if self.process.poll() is not None:
            with open(self.log, encoding="utf-8", errors="replace") as f:
                raise AssertionError("the server did not start:\n" + f.read()[-2000:])
        return self.ping()

    def kill(self):
        """Kill all its processes at once, as a crash would."""
        with open(f"/proc/{self.process.pid}/task/{self.process.pid}/children", encoding="ascii") as f:
            workers = [int(pid) for pid in f.read().split()]
        for pid in (self.process.pid, *workers):
            os.kill(pid, signal.SIGKILL)
        self.process.wait()
        KEPT.discard(self.process.pid)

    def remove(self):
        if self.process and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.kill()
        shutil.rmtree(self.dir, ignore_errors=True)


class Postgres(Server):
    user = "tester"

    def __init__(self, *settings):
        programs = find("initdb"), find("postgres"), find("psql")
        super().__init__()
        self.initdb, self.postgres, self.psql = programs
        self.settings = settings
        with open(self.dir + "/pw", "w", encoding="utf-8") as f:
            f.write(PASSWORD)
        os.chmod(self.dir + "/pw", 0o644)
        self.run(self.initdb, "-D", self.data, "-U", self.user, "--auth=scram-sha-256", "--encoding=UTF8",
                 "--locale=C", "--no-sync", "--pwfile", self.dir + "/pw")
        self.start()

    def command(self):
        options = ["fsync=off", f"unix_socket_directories={self.dir}", "listen_addresses=127.0.0.1", *self.settings]
        return [self.postgres, "-D", self.data, "-p", str(self.port)] + [w for o in options for w in ("-c", o)]

    def environment(self, **more):
        return dict(os.environ, PGPASSWORD=PASSWORD, PGUSER=self.user, PGHOST="127.0.0.1", PGPORT=str(self.port),
                    PGCONNECT_TIMEOUT="20", **more)

    def ping(self):
        return self.query("SELECT 1", check=False) == "1\n"

    def query(self, sql, database="postgres", check=True, user=None):
        """psql's own words for it."""
        env = self.environment(PGDATABASE=database)
        if user:
            env["PGUSER"] = user
        p = subprocess.run([self.psql, "-XqAt", "-v", "ON_ERROR_STOP=1", "-F", "\t"], input=sql, env=env,
                           capture_output=True, text=True, check=False)
        if check and p.returncode:
            raise AssertionError(p.stderr)
        return p.stdout

    def rows(self, sql, database="coro_tracer"):
        return [tuple(line.split("\t")) for line in self.query(sql, database).splitlines()]

    def options(self):
        return ["--db-host", "127.0.0.1", "--db-port", self.port, "--db-user", self.user, "--db-password", PASSWORD]


class MariaDB(Server):
    user = "tester"

    def __init__(self, *settings):
        programs = find("mariadb-install-db"), find("mariadbd", "mysqld"), find("mariadb", "mysql")
        super().__init__()
        self.install, self.mariadbd, self.client = programs
        self.settings = settings
        self.socket = self.dir + "/sock"
        self.run(self.install, "--no-defaults", "--datadir=" + self.data, "--skip-test-db", "--skip-name-resolve",
                 "--auth-root-authentication-method=normal")
        self.start()
        quoted = PASSWORD.replace("\\", "\\\\").replace("'", "''")
        self.query(f"CREATE USER {self.user}@'%' IDENTIFIED BY '{quoted}'; GRANT ALL ON *.* TO {self.user}@'%'")

    def command(self):
        return [self.mariadbd, "--no-defaults", "--datadir=" + self.data, "--socket=" + self.socket,
                f"--port={self.port}", "--bind-address=127.0.0.1", "--skip-name-resolve",
                "--pid-file=" + self.dir + "/pid", "--innodb-flush-log-at-trx-commit=0", *self.settings]

    def ping(self):
        return self.query("SELECT 1", check=False) == "1\n"

    def query(self, sql, database="", check=True):
        p = subprocess.run([self.client, "--no-defaults", "--batch", "--skip-column-names", "--user=root",
                            "--default-character-set=utf8mb4", "--socket=" + self.socket, database], input=sql,
                           capture_output=True, text=True, check=False)
        if check and p.returncode:
            raise AssertionError(p.stderr)
        return p.stdout

    def rows(self, sql, database="coro_tracer"):
        return [tuple(line.split("\t")) for line in self.query(sql, database).splitlines()]

    def options(self):
        return ["--db-host", "127.0.0.1", "--db-port", self.port, "--db-user", self.user, "--db-password", PASSWORD]
