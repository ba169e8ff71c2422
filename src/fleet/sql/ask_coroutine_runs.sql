-- The runs that have the coroutine: its number is unique within a run only.
SELECT
    toString(run) AS run_id,
    any(toString(service)) AS service_name,
    any(toString(host)) AS host_name,
    sum(sample) AS waits,
    toString(toDateTime(intDiv(min(ts), 1000000000)), 'UTC') AS from_utc
FROM {waits:Identifier}
WHERE probe_id = {coroutine:UInt64}
    AND ts >= toInt64({since:UInt32}) * 1000000000 AND ts < toInt64({until:UInt32}) * 1000000000
    AND ({service:String} = '' OR service = {service:String})
    AND ({host:String} = '' OR host = {host:String})
    AND ({build:String} = '' OR version = {build:String} OR startsWith(build, {build:String}))
    AND ({run:String} = '' OR startsWith(run, {run:String}))
GROUP BY run
ORDER BY min(ts) DESC
LIMIT 100
