-- latency, from single waits: t-digest percentiles, see ask_slowest_raw.sql.  Only waits that were
-- woken and resumed have a latency.
SELECT
    toString(toDateTime(t), 'UTC') AS time_utc,
    if(label = '', substring(b, 1, 12), label) AS build,
    resumes,
    toUInt64(if(quantiles[1] >= 0, quantiles[1], 0)) AS p50_ns,
    toUInt64(if(quantiles[2] >= 0, quantiles[2], 0)) AS p99_ns,
    max_ns
FROM
(
    SELECT
        intDiv(ts, 1000000000 * {step:UInt32}) * {step:UInt32} AS t,
        toString(build) AS b,
        toString(version) AS label,
        sum(sample) AS resumes,
        quantilesTDigestWeighted(0.5, 0.99)(ready_ns, sample) AS quantiles,
        max(ready_ns) AS max_ns
    FROM {waits:Identifier}
    WHERE ready_ns > 0 AND ts >= toInt64({since:UInt32}) * 1000000000 AND ts < toInt64({until:UInt32}) * 1000000000
        AND ({service:String} = '' OR service = {service:String})
        AND ({host:String} = '' OR host = {host:String})
        AND ({build:String} = '' OR version = {build:String} OR startsWith(build, {build:String}))
        AND ({site:String} = '' OR site GLOBAL IN
            (SELECT site FROM {sites:Identifier}
             WHERE positionCaseInsensitive(concat(file, ':', toString(line), ' ', function), {site:String}) > 0))
    GROUP BY t, b, label
)
ORDER BY t DESC, build
LIMIT {limit:UInt32}
