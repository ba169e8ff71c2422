-- findings: what the reports of all runs found, each problem once.
--
-- The fingerprint of a finding is equal on all hosts and survives changes to other lines of the file.
-- A report that was stored twice counts once: the inner query has one row per run.
SELECT
    confidence,
    detector,
    count,
    hosts,
    runs,
    arraySort(arrayDistinct(build_list)) AS builds,
    toString(toDateTime(intDiv(first_ts, 1000000000)), 'UTC') AS first_seen_utc,
    toString(toDateTime(intDiv(last_ts, 1000000000)), 'UTC') AS last_seen_utc,
    place AS site,
    seen,
    fingerprint
FROM
(
    SELECT
        fingerprint,
        argMax(run_confidence, level) AS confidence,
        max(level) AS top,
        any(run_detector) AS detector,
        sum(run_count) AS count,
        uniqExact(run_host) AS hosts,
        count() AS runs,
        groupUniqArray(build_label) AS build_list,
        min(run_ts) AS first_ts,
        max(run_ts) AS last_ts,
        argMax(run_place, run_ts) AS place,
        argMax(run_seen, run_ts) AS seen
    FROM
    (
        SELECT
            fingerprint,
            run,
            any(toString(host)) AS run_host,
            any(if(version = '', substring(build, 1, 12), toString(version))) AS build_label,
            any(toString(confidence)) AS run_confidence,
            max(toInt8(confidence)) AS level,
            any(toString(detector)) AS run_detector,
            max(count) AS run_count,
            max(ts) AS run_ts,
            any(place) AS run_place,
            any(seen) AS run_seen
        FROM {findings:Identifier}
        WHERE ts >= toInt64({since:UInt32}) * 1000000000 AND ts < toInt64({until:UInt32}) * 1000000000
            AND ({service:String} = '' OR service = {service:String})
            AND ({host:String} = '' OR host = {host:String})
            AND ({build:String} = '' OR version = {build:String} OR startsWith(build, {build:String}))
            AND ({site:String} = '' OR positionCaseInsensitive(place, {site:String}) > 0)
        GROUP BY fingerprint, run
    )
    GROUP BY fingerprint
)
ORDER BY top DESC, hosts DESC, count DESC, fingerprint
LIMIT {limit:UInt32}
