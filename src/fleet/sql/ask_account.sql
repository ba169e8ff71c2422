-- The runs that an answer is based on, and what is missing from them.
SELECT
    count() AS runs,
    uniqExact(host) AS hosts,
    sum(complete = 0) AS running,                       -- the account has not arrived: running, or not all loaded
    sum(transitions) AS transitions_loaded,
    sum(lost) AS transitions_lost,                      -- before the trace
    sum(given_up) AS transitions_given_up,              -- by a shipper whose spool was full
    sum(if(complete = 1 AND sample = 1 AND collected > transitions + given_up, collected - transitions - given_up, 0))
        AS transitions_not_loaded,
    sum(blocks_missing) AS missing_blocks,
    sum(blocks_damaged) AS damaged_blocks,
    sum(complete = 1 AND (lost > 0 OR given_up > 0 OR blocks_missing > 0 OR blocks_damaged > 0)) AS incomplete,
    sum(sample > 1) AS sampled,
    max(sample) AS sample_most,
    sum(clock_offset_ns != 0) AS clocks_off
FROM
(
    -- A run has one row per update until the rows are merged.
    SELECT
        run,
        argMax(host, updated) AS host,
        argMax(complete, updated) AS complete,
        argMax(transitions, updated) AS transitions,
        argMax(collected, updated) AS collected,
        argMax(lost, updated) AS lost,
        argMax(given_up, updated) AS given_up,
        argMax(blocks_missing, updated) AS blocks_missing,
        argMax(blocks_damaged, updated) AS blocks_damaged,
        argMax(sample, updated) AS sample,
        argMax(clock_offset_ns, updated) AS clock_offset_ns
    FROM
    (
        SELECT * FROM {runs:Identifier}
        WHERE greatest(last_ts, start_ts) >= toInt64({since:UInt32}) * 1000000000 AND start_ts < toInt64({until:UInt32}) * 1000000000
            AND ({service:String} = '' OR service = {service:String})
            AND ({host:String} = '' OR host = {host:String})
            AND ({run:String} = '' OR startsWith(run, {run:String}))
            AND (({build:String} = '' OR version = {build:String} OR startsWith(build, {build:String}))
                OR ({base:String} != '' AND (version = {base:String} OR startsWith(build, {base:String}))))
    )
    GROUP BY run
)
