-- coroutine: the waits of one coroutine of one run, in the order of time.
--   ran     how long it ran before it was suspended; 0: not known
--   ready   of the wait: from the wake to the resume
SELECT
    concat(toString(toDateTime(intDiv(t, 1000000000)), 'UTC'), '.', substring(toString(1000000000 + t % 1000000000), 2, 6)) AS time_utc,
    toUInt64(ran) AS ran_ns,
    wait AS wait_ns,
    ready AS ready_ns,
    state,
    reason,
    if(id = 0, '(unknown site)', if(place = '', concat('site ', lower(hex(id))), place)) AS site,
    if(wake_id = 0, '', if(wake_place = '', concat('site ', lower(hex(wake_id))), wake_place)) AS woken_at,
    by AS waker
FROM
(
    SELECT t, ran, wait, ready, state, reason, id, wake_id, by, place
    FROM
    (
        SELECT
            t, wait, ready, state, reason, id, wake_id, by,
            if(i > 1 AND ends[i - 1] > 0 AND t > ends[i - 1], t - ends[i - 1], 0) AS ran
        FROM
        (
            SELECT
                groupArray(ts) AS ts_list,
                groupArray(wait_ns) AS wait_list,
                groupArray(ready_ns) AS ready_list,
                groupArray(toString(state)) AS state_list,
                groupArray(toString(reason)) AS reason_list,
                groupArray(site) AS site_list,
                groupArray(wake_site) AS wake_site_list,
                groupArray(waker) AS waker_list,
                groupArray(if(wait_ns > 0, ts + toInt64(wait_ns), toInt64(0))) AS ends
            FROM
            (
                SELECT ts, wait_ns, ready_ns, state, reason, site, wake_site, waker
                FROM {waits:Identifier}
                WHERE probe_id = {coroutine:UInt64}
                    AND run = {run:String}
                    AND ts >= toInt64({since:UInt32}) * 1000000000 AND ts < toInt64({until:UInt32}) * 1000000000
                ORDER BY ts
                LIMIT {limit:UInt32}
            )
        )
        ARRAY JOIN
            ts_list AS t, wait_list AS wait, ready_list AS ready, state_list AS state, reason_list AS reason,
            site_list AS id, wake_site_list AS wake_id, waker_list AS by, arrayEnumerate(ts_list) AS i
    ) AS answer
    ANY LEFT JOIN
    (
        SELECT site AS id, any(concat(file, ':', toString(line), ' ', function)) AS place
        FROM {sites:Identifier}
        GROUP BY site
    ) AS names
    USING (id)
) AS named
ANY LEFT JOIN
(
    SELECT site AS wake_id, any(concat(file, ':', toString(line), ' ', function)) AS wake_place
    FROM {sites:Identifier}
    GROUP BY site
) AS wake_names
USING (wake_id)
ORDER BY t
