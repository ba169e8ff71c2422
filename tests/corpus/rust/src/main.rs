// SPDX-License-Identifier: MIT
//! All programs of the corpus in one file, which takes a tenth of the time to compile: the name by which it is started says
//! which of them runs.  Without one of their names it prints them.

macro_rules! programs {
    ($($name:ident,)*) => {
        mod programs {
            $(pub mod $name;)*
        }

        const PROGRAMS: &[(&str, fn())] = &[$((stringify!($name), programs::$name::main),)*];
    };
}

programs! {
    bug_async_channel_loop,
    bug_barrier_after_failure,
    bug_billing_sender_kept,
    bug_block_on_inside,
    bug_both_channels_full,
    bug_buffered_starves,
    bug_busy_yield,
    bug_cache_std_mutex,
    bug_cpu_in_task,
    bug_detached_forever,
    bug_everybody_asleep,
    bug_file_sync_in_task,
    bug_flag_without_notify,
    bug_gate_keeps_one_waker,
    bug_guard_across_join,
    bug_guard_leaked,
    bug_join_self,
    bug_lock_ring_two,
    bug_lock_ring_unnamed,
    bug_never_awaited,
    bug_never_yields,
    bug_notify_before_wait,
    bug_oneshot_kept,
    bug_permit_forgotten_on_retry,
    bug_permits_forgotten,
    bug_philosophers,
    bug_ready_flag_spun,
    bug_ready_stack,
    bug_rwlock_reentry,
    bug_seats_ring,
    bug_select_loses_frame,
    bug_select_loses_message,
    bug_self_waking_poll,
    bug_sender_leaked,
    bug_session_table_reply,
    bug_shop_actors_ask_each_other,
    bug_sleep_in_task,
    bug_smol_sender_kept,
    bug_spawn_per_packet,
    bug_stale_waker,
    bug_std_mutex_waits,
    bug_stuck_at_spawn,
    bug_thundering_herd,
    bug_unbounded_spawn,
    bug_unordered_not_polled,
    bug_unordered_waits_for_disk,
    bug_waker_dropped,
    bug_waker_overwritten,
    bug_watch_not_modified,
    clean_aborted_prefetch,
    clean_actor_house,
    clean_bursts,
    clean_cancelled_tasks,
    clean_contended_lock,
    clean_current_thread_idle,
    clean_deep_chains,
    clean_graceful_stop,
    clean_half_streams,
    clean_http_keepalive,
    clean_idle_server,
    clean_idle_workers,
    clean_index_on_blocking_pool,
    clean_join_set,
    clean_lifo_pool,
    clean_local_set,
    clean_long_timers,
    clean_own_cpu_thread,
    clean_select_actor,
    clean_sigterm,
    clean_silent_users,
    clean_slow_start,
    clean_smol_server,
    clean_spawn_blocking,
    clean_timeouts,
    clean_very_short,
    clean_wake_all,
    clean_weather_station,
    clean_yielding_cpu,
}

fn main() {
    let path = std::env::args().next().unwrap_or_default();
    let name = path.rsplit('/').next().unwrap_or("");
    match PROGRAMS.iter().find(|program| program.0 == name) {
        Some(program) => program.1(),
        None => PROGRAMS.iter().for_each(|program| println!("{}", program.0)),
    }
}
