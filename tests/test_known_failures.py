"""Which tests hold each fault that users of systems like this one reported: the map, and that it does not rot.

The tests are named after what must hold. A number without a test, or a test that was renamed, fails here.
"""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parent

HANG = "test_process_whose_loop_does_not_turn_any_more_ends_and_its_message_is_handled_after_the_restart"

KNOWN_FAILURES: dict[int, tuple[str, list[str]]] = {
    1: (
        "The record of a dead worker is pruned first, or a restarted host of the same name keeps its jobs alive.",
        [
            "db/test_db_leases.py::test_lease_of_a_dead_node_runs_out_whatever_became_of_its_records",
            "db/test_db_leases.py::test_node_has_a_new_id_at_each_boot",
            "db/test_db_messages.py::test_queue_visibility_timeout_reclaim",
            "e2e/test_e2e_queues.py::test_queue_visibility_timeout_reclaim",
        ],
    ),
    2: (
        "An expired claim still counts against the concurrency limit and blocks its own reclaim.",
        ["db/test_db_leases.py::test_expired_lease_frees_its_place_under_every_limit"],
    ),
    3: (
        "SIGTERM leaves rows claimed until they time out.",
        [
            "unit/test_actor_consumer.py::test_drain_finishes_what_runs_and_gives_the_rest_back_untried",
            "unit/test_actor_consumer.py::test_outcomes_cancelled_by_a_shutdown_do_not_count_as_attempts",
            "unit/test_actor_outbox.py::test_drain_finishes_what_runs_and_gives_the_rest_back",
            "e2e/test_e2e_tree.py::test_drain_finishes_what_runs_gives_back_the_rest_and_refuses_new_connections",
            "e2e/test_e2e_life.py::test_second_signal_ends_a_busy_node_and_gives_its_message_back",
            "chaos/test_chaos_outbox.py::test_node_that_ends_in_order_leaves_no_row_claimed_and_none_dead",
        ],
    ),
    4: (
        "One bad message in a claimed batch strands the others.",
        [
            "unit/test_engine_slices.py::test_a_failure_does_not_touch_the_next_job",
            "unit/test_actor_consumer.py::test_failures_are_retried_with_backoff_and_die_when_no_attempt_is_left",
            "unit/test_actor_consumer.py::test_cancelled_before_the_thread_started_gives_the_batch_back",
            "unit/test_actor_outbox.py::test_edited_row_is_refused_when_it_fires_and_its_neighbours_run",
            "db/test_db_failures_stored.py::test_every_message_is_finished_whatever_its_handler_leaves",
        ],
    ),
    5: (
        "A database restart during a recovery that is tried once loses the recovery.",
        [
            "unit/test_actor_services.py::test_reclaim_that_failed_at_the_start_is_made_up_for",
            "unit/test_actor_services.py::test_reclaim_waits_out_an_outage",
            "unit/test_actor_services.py::test_reclaim_sweeps_at_once_and_at_every_interval",
            "unit/test_actor_outbox.py::test_sweep_that_the_server_cuts_short_is_tried_again_at_the_next_tick",
        ],
    ),
    6: (
        "A draining process claims again what the new one released.",
        [
            "unit/test_actor_consumer.py::test_draining_consumer_claims_nothing_more_and_the_next_one_does_the_rest",
            "unit/test_actor_services.py::test_closed_roster_drains_all_consumers_and_starts_none",
            "unit/test_actor_outbox.py::test_closed_outbox_claims_nothing_until_it_is_asked_to_end",
        ],
    ),
    7: (
        "A job is recorded both done and failed.",
        [
            "unit/test_actor_services.py::test_each_message_gets_exactly_one_verdict",
            "unit/test_actor_consumer.py::test_lost_answer_of_a_settlement_counts_nothing_twice",
            "db/test_db_messages.py::test_every_guarded_write_ignores_a_stale_token",
            "db/test_db_amendments.py::test_execution_that_lost_its_lease_is_recorded_so",
            "db/test_db_queue_model.py::test_queue_does_what_its_model_does",
        ],
    ),
    8: (
        "A stable consumer id lets a stale attempt finish or extend its replacement.",
        [
            "unit/test_actor_consumer.py::test_every_claim_has_a_token_of_its_own",
            "db/test_db_messages.py::test_every_guarded_write_ignores_a_stale_token",
            "db/test_db_messages.py::test_stale_acknowledgement_deletes_nothing_and_drops_its_effects",
            "db/test_db_outbox.py::test_stale_acknowledgement_leaves_nothing",
            "db/test_db_units.py::test_lost_lease_leaves_nothing",
        ],
    ),
    9: (
        "The heartbeat period equals the lease, or a handler that holds the interpreter stops the heartbeat.",
        [
            "unit/test_actor_consumer.py::test_leases_are_extended_at_a_third_while_a_handler_runs",
            "unit/test_actor_outbox.py::test_leases_are_extended_at_a_third_while_a_handler_runs",
            "db/test_db_messages.py::test_extended_lease_is_not_reclaimed",
            "db/test_db_tree.py::test_handler_that_runs_for_three_visibility_timeouts_is_not_delivered_twice",
        ],
    ),
    10: (
        "A delay longer than the visibility timeout makes copies.",
        ["db/test_db_leases.py::test_message_that_waits_for_ten_visibility_timeouts_is_delivered_once"],
    ),
    11: (
        "A script that kills its process is retried for ever, since a crash never counts.",
        [
            "db/test_db_messages.py::test_lease_that_runs_out_on_the_last_attempt_is_a_dead_letter",
            "db/test_db_outbox.py::test_invocation_whose_node_died_is_a_dead_letter_that_can_be_replayed",
        ],
    ),
    12: (
        "Storing the result fails, so that the message is never finished and the node loops.",
        [
            "db/test_db_failures_stored.py::test_every_message_is_finished_whatever_its_handler_leaves",
            "db/test_db_recorder.py::test_what_postgresql_cannot_hold_costs_nobody_anything",
            "db/test_db_recorder.py::test_rows_that_are_refused_do_not_take_others_with_them",
        ],
    ),
    13: (
        "A failing dead-letter handler feeds itself.",
        [
            "db/test_db_fan_out.py::test_batch_of_failing_dead_letter_handlers_is_recorded_and_never_fans_out_again",
            "db/test_db_fan_out.py::test_dead_letter_handler_whose_node_died_does_not_fan_out_either",
        ],
    ),
    14: (
        "NUL and lone surrogates are accepted at send, then the completion's write aborts.",
        [
            "http/test_http_messages.py::test_payload_that_cannot_be_carried_is_refused_and_nothing_stored",
            "http/test_http_apps.py::test_text_that_postgresql_cannot_store_is_refused",
            "unit/test_engine_enqueue.py::test_a_call_that_cannot_work_is_refused",
            "unit/test_engine_author_errors.py::test_a_message_is_made_harmless",
            "unit/test_engine_logs.py::test_control_characters_and_lone_surrogates_are_escaped",
            "db/test_db_failures_stored.py::test_every_message_is_finished_whatever_its_handler_leaves",
        ],
    ),
    15: (
        "A NOTIFY payload of over 8000 bytes fails the enqueue.",
        [
            "db/test_db_listening.py::test_large_payload_and_the_longest_names_fit_into_notifications",
            "http/test_http_messages.py::test_payload_may_be_as_large_and_as_deep_as_the_limits",
        ],
    ),
    16: (
        "Finished rows are kept for ever and slow every poll.",
        [
            "db/test_db_janitor.py::test_a_whole_sweep_on_a_real_database",
            "db/test_db_executions.py::test_old_days_are_dropped_and_the_last_ones_kept",
        ],
    ),
    17: (
        "The LISTEN connection drops and nobody notices: polling only from then on.",
        [
            "db/test_db_listening.py::test_connection_that_is_cut_is_made_again_listens_again_and_sweeps",
            "unit/test_actor_wakeup.py::test_connection_that_is_half_open_is_found_and_the_next_one_sweeps",
        ],
    ),
    18: (
        "Half-open TCP.",
        [
            "db/test_db_listening.py::test_connection_that_went_quiet_is_found_by_its_probe",
            "unit/test_actor_wakeup.py::test_connection_that_is_half_open_is_found_and_the_next_one_sweeps",
        ],
    ),
    19: (
        "The notifier restarts, and its subscribers never subscribe again.",
        ["db/test_db_listening.py::test_mailbox_taken_before_a_restart_of_the_notifier_is_woken_after_it"],
    ),
    20: (
        "One NOTIFY wakes every consumer of every node.",
        [
            "db/test_db_listening.py::test_notification_wakes_the_consumer_of_its_queue_and_no_other_on_any_node",
            "unit/test_actor_services.py::test_notification_wakes_the_queue_it_names_and_foreign_ones_nobody",
            "unit/test_actor_wakeup.py::test_nodes_do_not_poll_in_step",
        ],
    ),
    21: (
        "The process ends after an outage, or never reconnects, or restarts until its supervisor gives up.",
        [
            "e2e/test_e2e_tree.py::test_outage_of_the_database_is_shown_waited_out_and_costs_no_restart",
            "unit/test_actor_consumer.py::test_outage_is_shown_and_passes",
            "unit/test_actor_cron.py::test_outage_is_waited_out_shown_and_what_was_due_in_it_is_fired",
            "unit/test_actor_janitor.py::test_an_outage_ends_the_leadership_and_is_waited_out",
            "unit/test_actor_outbox.py::test_outage_keeps_what_is_to_be_settled",
            "unit/test_actor_running.py::test_an_outage_is_shown_and_the_next_look_is_tried",
            "db/test_db_connection.py::test_pool_survives_an_immediate_restart_of_the_server",
            "db/test_db_recorder.py::test_outage_is_waited_for_and_the_rest_is_written",
        ],
    ),
    22: (
        "The pool stays on a demoted primary.",
        [
            "db/test_db_connection.py::test_pool_drops_a_connection_whose_server_says_that_it_is_of_no_use_any_more",
            "db/test_db_connection.py::test_pool_leaves_a_primary_that_became_read_only",
            "db/test_db_connection.py::test_pool_drops_connections_whose_backend_was_terminated",
        ],
    ),
    23: (
        "Behind a transaction-pooling proxy LISTEN, prepared statements and locks of a session break.",
        [
            "db/test_db_pooled.py::test_node_works_behind_a_transaction_pooling_proxy",
            "db/test_db_pooled.py::test_listening_over_the_proxy_is_shown_and_the_poll_finds_all",
            "db/test_db_pooled.py::test_statements_prepared_over_the_proxy_are_an_outage_that_says_what_to_set",
            "db/test_db_tree.py::test_nodes_that_do_not_listen_find_triggers_and_messages_by_polling",
        ],
    ),
    24: (
        "Claims slow down with a million delayed or paused rows, or with a pinned xmin.",
        [
            "db/test_db_plans.py::test_hot_statements_go_by_their_index",
            "db/test_db_messages.py::test_claim_walks_neither_delayed_rows_nor_the_backlog",
            "db/test_db_outbox.py::test_claim_walks_neither_delayed_rows_nor_the_backlog",
            "db/test_db_outbox.py::test_dead_rows_of_a_flood_are_not_walked_again_while_an_old_snapshot_keeps_them",
            "db/test_db_janitor.py::test_an_open_snapshot_is_named_with_pid_application_and_age",
        ],
    ),
    25: (
        "Daylight saving: a fixed time fires twice or not at all.",
        [
            "unit/test_schedules.py::test_time_that_the_clock_skips_comes_right_after_the_gap_once",
            "unit/test_schedules.py::test_time_that_the_clock_shows_twice_comes_once",
            "unit/test_schedules.py::test_wildcards_keep_their_interval",
        ],
    ),
    26: (
        "Two schedulers fire the same tick.",
        [
            "db/test_db_cron.py::test_nodes_that_look_at_once_fire_each_time_once",
            "db/test_db_cron_tree.py::test_a_thousand_due_at_once_fire_once_each_with_three_nodes",
            "chaos/test_chaos_cron.py::test_kill_nine_in_the_middle_of_a_tick_leaves_each_fired_once",
        ],
    ),
    27: (
        "Downtime over a tick loses it silently.",
        [
            "db/test_db_cron.py::test_after_an_outage_each_policy_does_what_it_says",
            "unit/test_catch_up.py::test_policy_says_what_an_outage_is_made_up_for_with",
        ],
    ),
    28: (
        "Backoff overflows at attempt 16 and the message disappears.",
        [
            "unit/test_backoff.py::test_no_attempt_is_too_high_for_a_wait_of_an_hour_at_most",
            "unit/test_backoff.py::test_waits_never_get_shorter_and_stay_at_their_limit",
            "db/test_db_leases.py::test_message_of_any_attempt_is_due_again_within_an_hour",
        ],
    ),
    29: (
        "A node's clock an hour ahead takes everyone's leases.",
        ["db/test_db_leases.py::test_node_whose_clock_is_off_takes_nobodys_lease_and_delivers_nothing_early"],
    ),
    30: (
        "A duplicate key aborts a whole batch of sends.",
        [
            "db/test_db_messages.py::test_dedup_key_yields_the_first_messages_id_and_never_stops_the_others",
            "http/test_http_messages.py::test_batch_gives_a_result_per_message_in_order",
            "http/test_http_messages.py::test_batches_with_the_same_keys_in_another_order_do_not_lock_each_other_out",
        ],
    ),
    31: (
        "`while True: pass` in a thread: the process slows 4,000 times, and the thread can never be ended.",
        [
            "unit/test_engine_author_errors.py::test_a_spinning_script_is_stopped_at_its_line",
            "sandbox/test_sandbox_corpus.py::test_attack_is_blocked",
            f"e2e/test_e2e_tree.py::{HANG}",
        ],
    ),
    32: (
        "Two routes of the same path and different methods overwrite each other.",
        ["http/test_http_route_rules.py::test_one_path_has_a_route_for_each_method"],
    ),
    33: (
        "A bad target is accepted at save and fails at run.",
        [
            "db/test_db_cron.py::test_bad_target_or_setting_is_refused_and_nothing_is_stored",
            "http/test_http_cron.py::test_bad_target_schedule_zone_and_payload_are_refused_at_save_with_the_place",
            "http/test_http_route_rules.py::test_a_target_that_cannot_work_is_refused_when_it_is_saved",
        ],
    ),
    34: (
        "One tenant's flood starves another.",
        [
            "db/test_db_tree.py::test_single_message_of_an_app_starts_beside_another_apps_flood_of_ten_thousand",
            "unit/test_actor_outbox.py::test_flood_of_slow_handlers_of_one_app_does_not_hold_up_another",
            "db/test_db_outbox.py::test_flood_of_one_app_leaves_the_others_their_turn",
        ],
    ),
    35: (
        "A shutdown hangs on a client that stopped reading its response.",
        [
            "unit/test_server_actor.py::test_client_that_stopped_reading_does_not_hold_up_the_shutdown",
            "unit/test_server_actor.py::test_client_that_stopped_reading_is_dropped_after_the_send_timeout",
            "e2e/test_e2e_life.py::test_shutdown_ends_though_a_client_stopped_reading",
        ],
    ),
}


@cache
def find_tests(file: str) -> frozenset[str]:
    """Return the names of a module's test functions."""
    tree = ast.parse((TESTS / file).read_text("utf-8"))
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    return frozenset(function.name for function in functions if function.name.startswith("test_"))


def test_every_known_failure_is_on_the_map() -> None:
    assert sorted(KNOWN_FAILURES) == list(range(1, 36))


@pytest.mark.parametrize("number", KNOWN_FAILURES)
def test_fault_is_held_by_tests_that_are_there(number: int) -> None:
    fault, nodes = KNOWN_FAILURES[number]
    assert nodes, fault
    missing = [node for node in nodes if node.split("::")[1] not in find_tests(node.split("::")[0])]
    assert missing == [], fault
