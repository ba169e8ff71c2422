-- schema-2.old.sql - findings of reports, for ClickHouse before 22.8.
--
-- One row per problem that the report of a run found.  The fingerprint is equal on all hosts and in all builds,
-- and survives changes to other lines of the file; it is that of the SARIF report.  A report that is stored
-- again replaces its rows.

CREATE TABLE IF NOT EXISTS findings (
	service LowCardinality(String),
	build LowCardinality(String),
	version LowCardinality(String),
	host LowCardinality(String),
	region LowCardinality(String),
	run String,
	ts Int64,                -- end of the run, ns since 1970
	fingerprint String,
	detector LowCardinality(String),
	confidence Enum8('info' = 0, 'suspect' = 1, 'strong' = 2, 'proven' = 3),
	title LowCardinality(String),
	place String,            -- file:line function; empty: none
	site UInt64,             -- hash of the place, as in the table sites; 0: none
	count UInt64,            -- how often in this run
	seen String,             -- what was seen, one sentence
	example String           -- the group as JSON, as the JSON report has it
) ENGINE = ReplacingMergeTree
PARTITION BY intDiv(ts, 864000000000000)
ORDER BY (service, fingerprint, run);
