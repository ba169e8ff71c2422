# SPDX-License-Identifier: MIT
"""fleet_servers.py - real ClickHouse and NATS servers on loopback, each with its own directory, ports and limits.

    with_shards = ClickHouse.cluster(2)     # two servers that know each other as cluster "fleet"
    server = ClickHouse(password="secret")  # one
    nats = Nats()

Each is killed by its pid at the end, and with the test that started it.  Skip("why") without the packages.
"""
import atexit
import ctypes
import os
import resource
import shutil
import signal
import socket
import subprocess
import tempfile
import urllib.error
import urllib.parse
import urllib.request
import xml.sax.saxutils

from harness import KEPT, Skip, wait_until
from ports import free_port

CLUSTER = "fleet"
FILE_SIZE_MAX = 4 << 30


def find_program(name):
    for path in (shutil.which(name), f"/usr/sbin/{name}", f"/usr/bin/{name}"):
        if path and os.access(path, os.X_OK):
            return path
    raise Skip(f"no {name} here")


def limit_process():
    """A killed test leaves no server, and a server that runs wild does not fill the disk."""
    PR_SET_PDEATHSIG = 1
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_SIZE_MAX, FILE_SIZE_MAX))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


class FleetServer:
    def __init__(self):
        self.dir = tempfile.mkdtemp(prefix="ct-fleet-")
        self.log = self.dir + "/log"
        self.process = None
        atexit.register(self.remove)

    def launch(self):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(self.command(), cwd=self.dir, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            preexec_fn=limit_process, start_new_session=True)
        KEPT.add(self.process.pid)

    def start(self):
        self.launch()
        wait_until(self.answers, f"an answer of {self.command()[0]}")

    def answers(self):
        if self.process.poll() is not None:
            with open(self.log, encoding="utf-8", errors="replace") as f:
                raise AssertionError("the server did not start:\n" + f.read()[-3000:])
        return self.ping()

    def kill(self):
        """As a crash would."""
        if self.process and self.process.poll() is None:
            self.process.kill()
        if self.process:
            self.process.wait()
            KEPT.discard(self.process.pid)

    def pause(self):
        """It holds its connections, and answers nothing."""
        self.process.send_signal(signal.SIGSTOP)

    def resume(self):
        self.process.send_signal(signal.SIGCONT)

    def remove(self):
        self.kill()
        shutil.rmtree(self.dir, ignore_errors=True)


CLICKHOUSE_CONFIG = """<?xml version="1.0"?>
<yandex>
<logger><level>information</level><console>1</console></logger>
<http_port>{http}</http_port><tcp_port>{tcp}</tcp_port><interserver_http_port>{inter}</interserver_http_port>
<interserver_http_host>127.0.0.1</interserver_http_host>
<listen_host>127.0.0.1</listen_host>
<max_connections>256</max_connections><keep_alive_timeout>3</keep_alive_timeout><max_concurrent_queries>64</max_concurrent_queries>
<uncompressed_cache_size>16777216</uncompressed_cache_size><mark_cache_size>67108864</mark_cache_size>
<path>{dir}/data/</path><tmp_path>{dir}/tmp/</tmp_path><user_files_path>{dir}/files/</user_files_path>
<users_config>{dir}/users.xml</users_config><default_profile>default</default_profile><default_database>default</default_database>
<timezone>UTC</timezone>
<merge_tree><max_suspicious_broken_parts>100</max_suspicious_broken_parts></merge_tree>
<remote_servers>{clusters}</remote_servers>
</yandex>
"""
CLICKHOUSE_USERS = """<?xml version="1.0"?>
<yandex>
<profiles><default><max_memory_usage>1500000000</max_memory_usage>
<max_memory_usage_for_all_queries>2000000000</max_memory_usage_for_all_queries><max_threads>2</max_threads>
<log_queries>0</log_queries></default>
<readonly><readonly>1</readonly></readonly></profiles>
<users>
<default><password>{password}</password><networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota></default>
<reader><password></password><networks><ip>127.0.0.1</ip></networks><profile>readonly</profile><quota>default</quota></reader>
</users>
<quotas><default></default></quotas>
</yandex>
"""
CLICKHOUSE_SHARD = """<shard><internal_replication>true</internal_replication>
<replica><host>127.0.0.1</host><port>{tcp}</port><user>default</user><password>{password}</password></replica></shard>"""


class QueryFailed(AssertionError):
    pass


class ClickHouse(FleetServer):
    def __init__(self, password="", begin=True):
        self.program = find_program("clickhouse-server")
        super().__init__()
        self.http, self.tcp, self.inter = free_port(), free_port(), free_port()
        self.password = password
        self.shards = [self]
        for name in ("data", "tmp", "files"):
            os.mkdir(f"{self.dir}/{name}")
        if begin:
            self.configure()
            self.start()

    @classmethod
    def cluster(cls, nr, password=""):
        """Servers that are the shards of one cluster."""
        shards = [cls(password, begin=False) for _ in range(nr)]
        for s in shards:
            s.shards = shards
            s.configure()
            s.launch()
        for s in shards:
            wait_until(s.answers, "an answer of a shard")
        return shards

    def configure(self):
        shards = "".join(CLICKHOUSE_SHARD.format(tcp=s.tcp, password=xml.sax.saxutils.escape(s.password)) for s in self.shards)
        with open(self.dir + "/config.xml", "w", encoding="utf-8") as f:
            f.write(CLICKHOUSE_CONFIG.format(http=self.http, tcp=self.tcp, inter=self.inter, dir=self.dir,
                                             clusters=f"<{CLUSTER}>{shards}</{CLUSTER}>"))
        with open(self.dir + "/users.xml", "w", encoding="utf-8") as f:
            f.write(CLICKHOUSE_USERS.format(password=xml.sax.saxutils.escape(self.password)))

    def command(self):
        return [self.program, f"--config-file={self.dir}/config.xml"]

    def ping(self):
        try:
            return self.query("SELECT 1") == "1\n"
        except (OSError, QueryFailed):
            return False

    def query(self, sql, timeout=240, **settings):
        """The text of the answer, as TabSeparated."""
        url = f"http://127.0.0.1:{self.http}/?" + urllib.parse.urlencode(settings)
        request = urllib.request.Request(url, sql.encode(), {"X-ClickHouse-User": "default", "X-ClickHouse-Key": self.password})
        try:
            with urllib.request.urlopen(request, timeout=timeout) as r:
                return r.read().decode()
        except urllib.error.HTTPError as e:
            raise QueryFailed(f"{sql[:300]}: {e.read().decode(errors='replace')[:1000]}") from None

    def rows(self, sql, **settings):
        return [tuple(line.split("\t")) for line in self.query(sql, **settings).splitlines()]

    def value(self, sql, **settings):
        """The number that a query returns."""
        return int(self.query(sql, **settings))

    def url(self, database="corotracer", options=""):
        """As --into wants it; the password goes into CLICKHOUSE_PASSWORD."""
        hosts = ",".join(f"127.0.0.1:{s.http}" for s in self.shards)
        return f"clickhouse://default@{hosts}/{database}{options}"

    def cpu_seconds(self):
        """User and system time since its start."""
        with open(f"/proc/{self.process.pid}/stat", encoding="ascii") as f:
            fields = f.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Nats(FleetServer):
    """With JetStream, files in its directory."""

    def __init__(self, begin=True):
        self.program = find_program("nats-server")
        super().__init__()
        self.port = free_port()
        if begin:
            self.start()

    def command(self):
        return [self.program, "-a", "127.0.0.1", "-p", str(self.port), "-js", "-sd", self.dir + "/js"]

    def ping(self):
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=5) as s:
                return s.recv(4096).startswith(b"INFO")
        except OSError:
            return False

    def url(self):
        return f"nats://127.0.0.1:{self.port}"


def installed(*names):
    """Skip a test whose servers are not installed."""
    for name in names:
        find_program(name)


__all__ = ["CLUSTER", "ClickHouse", "FleetServer", "Nats", "QueryFailed", "find_program", "free_port", "installed"]
