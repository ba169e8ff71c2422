-- schema-1.current.sql - the tables of a fleet, for ClickHouse from 22.8 on.
--
-- `corotracer load` runs these statements once, on every shard, and notes the version in schema_version.
-- The other dialect has the same tables and columns: a question works on both.
--
-- Times are nanoseconds since 1970 by the clock of the host (ts), with an alias `time` to read.  A site is the
-- hash of file, line and function, equal on all hosts; 0: no site.  `run` is one run of a program under a
-- collector; its blocks are numbered, and (run, block) names the block that a row came from.

CREATE TABLE IF NOT EXISTS schema_version (
	version UInt32,
	applied DateTime
) ENGINE = MergeTree PARTITION BY tuple() ORDER BY version;

-- One row per suspension of a coroutine.
CREATE TABLE IF NOT EXISTS waits (
	service LowCardinality(String),
	build LowCardinality(String),    -- build-id of the program's file
	version LowCardinality(String),  -- label given by the user
	host LowCardinality(String),
	region LowCardinality(String),
	run LowCardinality(String),
	block UInt64 CODEC(Delta, ZSTD(1)),
	ts Int64 CODEC(Delta, T64, ZSTD(3)),              -- of the suspend
	site UInt64 CODEC(ZSTD(1)),             -- where it suspended
	wake_site UInt64 CODEC(ZSTD(1)),        -- where it was woken
	probe_id UInt64 CODEC(ZSTD(3)),         -- the coroutine
	waker UInt64 CODEC(ZSTD(3)),            -- the coroutine that woke it; 0: unknown
	reason Enum8('unknown' = 0, 'io-read' = 1, 'io-write' = 2, 'accept' = 3, 'connect' = 4, 'timer' = 5,
		'mutex' = 6, 'semaphore' = 7, 'channel-send' = 8, 'channel-recv' = 9, 'join' = 10, 'yield' = 11, 'signal' = 12, 'user' = 13),
	resource UInt64 CODEC(ZSTD(3)),         -- descriptor, lock, ...; 0 also if it has none
	wait_ns UInt64 CODEC(T64, ZSTD(1)),          -- suspend to resume, end or destroy; 0: open or lost
	ready_ns UInt64 CODEC(T64, ZSTD(1)),         -- wake to resume; 0: no wake was seen, or it was not resumed
	state Enum8('resumed' = 0, 'woken' = 1, 'open' = 2, 'closed' = 3, 'lost' = 4),
	sample UInt32 CODEC(Delta, ZSTD(1)),           -- number of waits that this row stands for
	time DateTime64(9, 'UTC') ALIAS fromUnixTimestamp64Nano(ts)
) ENGINE = MergeTree
PARTITION BY intDiv(ts, 86400000000000)
ORDER BY (service, site, ts)
TTL toDateTime(intDiv(ts, 1000000000)) + INTERVAL 7 DAY
SETTINGS non_replicated_deduplication_window = 10000, ttl_only_drop_parts = 1;

-- The events themselves, only with `load --events`.
CREATE TABLE IF NOT EXISTS events (
	service LowCardinality(String),
	host LowCardinality(String),
	run LowCardinality(String),
	block UInt64 CODEC(Delta, ZSTD(1)),
	ts Int64 CODEC(Delta, T64, ZSTD(3)),
	kind Enum8('suspend' = 0, 'resume' = 1, 'birth' = 2, 'wake' = 3, 'end' = 4, 'destroy' = 5, 'close' = 6,
		'acquire' = 7, 'release' = 8) CODEC(ZSTD(6)),
	probe_id UInt64 CODEC(ZSTD(3)),
	tid UInt64 CODEC(ZSTD(6)),
	site UInt64 CODEC(ZSTD(6)),
	reason Enum8('unknown' = 0, 'io-read' = 1, 'io-write' = 2, 'accept' = 3, 'connect' = 4, 'timer' = 5,
		'mutex' = 6, 'semaphore' = 7, 'channel-send' = 8, 'channel-recv' = 9, 'join' = 10, 'yield' = 11, 'signal' = 12, 'user' = 13) CODEC(ZSTD(6)),
	resource UInt64 CODEC(T64, ZSTD(3)),
	peer UInt64 CODEC(ZSTD(3)),            -- of a birth the parent, of a wake the waker
	flags UInt8 CODEC(ZSTD(6)),            -- 1 has a resource, 2 destroyed, 8 was suspended, 16 cancelled, 32 adopted
	name String CODEC(ZSTD(6)),            -- of a birth
	sample UInt32 CODEC(Delta, ZSTD(1)),
	time DateTime64(9, 'UTC') ALIAS fromUnixTimestamp64Nano(ts)
) ENGINE = MergeTree
PARTITION BY intDiv(ts, 86400000000000)
ORDER BY (service, host, run, ts)
TTL toDateTime(intDiv(ts, 1000000000)) + INTERVAL 2 DAY
SETTINGS non_replicated_deduplication_window = 10000, ttl_only_drop_parts = 1;

-- Waits by site and 10 s, kept longer than the waits.  Each wait counts `sample` times.  A row whose `mark` is
-- not empty counts nothing: it says that the block of this name (RUN/BLOCK) is in the sums.
CREATE TABLE IF NOT EXISTS waits_10s (
	service LowCardinality(String),
	build LowCardinality(String),
	version LowCardinality(String),
	site UInt64,
	reason Enum8('unknown' = 0, 'io-read' = 1, 'io-write' = 2, 'accept' = 3, 'connect' = 4, 'timer' = 5,
		'mutex' = 6, 'semaphore' = 7, 'channel-send' = 8, 'channel-recv' = 9, 'join' = 10, 'yield' = 11, 'signal' = 12, 'user' = 13),
	ts Int64,               -- begin of the 10 s
	mark String,
	marks UInt64,           -- 1 if mark is set: 2 would be a block that was counted twice
	count UInt64,           -- suspensions
	resumed UInt64,         -- of these
	woken UInt64,
	open UInt64,
	closed UInt64,
	lost UInt64,
	readied UInt64,         -- with a ready time
	wait_ns UInt64,         -- sums
	ready_ns UInt64,
	max_wait AggregateFunction(max, UInt64),
	max_ready AggregateFunction(max, UInt64),
	waitMap Nested(bucket UInt8, n UInt64),   -- bucket b: 2^(b-1) <= ns < 2^b; 0: 0 ns
	readyMap Nested(bucket UInt8, n UInt64),
	time DateTime64(9, 'UTC') ALIAS fromUnixTimestamp64Nano(ts)
) ENGINE = SummingMergeTree
PARTITION BY intDiv(ts, 864000000000000)
ORDER BY (service, site, ts, build, version, reason, mark)
TTL toDateTime(intDiv(ts, 1000000000)) + INTERVAL 90 DAY
SETTINGS non_replicated_deduplication_window = 10000, ttl_only_drop_parts = 1;

-- Which sites there are.
CREATE TABLE IF NOT EXISTS sites (
	site UInt64,
	file String,
	line UInt32,
	function String
) ENGINE = ReplacingMergeTree PARTITION BY tuple() ORDER BY site;

-- One row per run, replaced as it goes on.  Missing from the store:
-- collected - transitions - given_up - left_out.
CREATE TABLE IF NOT EXISTS runs (
	run String,
	service String,
	build String,
	version String,
	host String,
	region String,
	sample UInt32,
	start_ts Int64,         -- ns since 1970
	last_ts Int64,          -- of the last block that was loaded
	blocks UInt64,          -- loaded
	blocks_total UInt64,    -- of the run; 0: not known yet
	blocks_missing UInt64,  -- numbers that were passed over
	blocks_damaged UInt64,
	transitions UInt64,     -- loaded, without whole
	others UInt64,
	waits UInt64,           -- loaded
	written UInt64,         -- by the program; 0 as long as the run is not complete
	collected UInt64,
	lost UInt64,
	given_up UInt64,        -- transitions that the shipper gave up
	given_up_others UInt64,
	left_out UInt64,        -- transitions of coroutines that were not sent, by --sample
	left_out_others UInt64,
	complete UInt8,         -- the account of the run has arrived
	whole UInt64,           -- loaded transitions of coroutines with findings, beside the sample
	whole_others UInt64,
	clock_offset_ns Int64,  -- of the host's clock; 0: less than a second, or not known
	updated UInt64          -- version of the row: ns since 1970 of the loader
) ENGINE = ReplacingMergeTree(updated) PARTITION BY tuple() ORDER BY run;

-- One row per block that was loaded.
CREATE TABLE IF NOT EXISTS blocks (
	run LowCardinality(String),
	block UInt64,
	ts Int64,               -- of its first event
	transitions UInt32,
	others UInt32,
	waits UInt32,
	loaded DateTime
) ENGINE = ReplacingMergeTree PARTITION BY intDiv(ts, 864000000000000) ORDER BY (run, block)
TTL toDateTime(intDiv(ts, 1000000000)) + INTERVAL 90 DAY
SETTINGS non_replicated_deduplication_window = 10000, ttl_only_drop_parts = 1;
