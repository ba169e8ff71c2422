(* SPDX-License-Identifier: MIT *)
(*
   MergeRuns.v - a run of Merge.v, and what happens without each rule: the events of a coroutine are
   handed on in another order.
*)
Require Import Arith List Lia Bool.
Require Import Merge MergeInv.
Import ListNotations.

Definition runs (rule : rules) (cs : list choice) : option state :=
  run rule (fun t => t) state0 cs.

Definition same_numbers (a b : list nat) : bool := if list_eq_dec Nat.eq_dec a b then true else false.

Definition numbers (s : state) (c : nat) : list nat := map number (of_co c (out (con s))).

Definition leads_to (rule : rules) (cs : list choice) (f : state -> bool) : bool :=
  match runs rule cs with Some s => f s | None => false end.

Lemma led_to : forall rule cs f, leads_to rule cs f = true ->
  exists s, runs rule cs = Some s /\ f s = true.
Proof.
  intros rule cs f H; unfold leads_to in H; destruct (runs rule cs) as [s|]; [eauto|discriminate].
Qed.

Lemma same_numbers_eq : forall a b, same_numbers a b = true -> a = b.
Proof. intros a b; unfold same_numbers; destruct (list_eq_dec Nat.eq_dec a b); congruence. Qed.

(* An event of coroutine c on thread l, the counter read e ticks too early. *)
Definition event (l c e : nat) : list choice := [Read l c e; Append l; Show l].
Definition ticking (n : nat) : list choice := repeat Tick n.
Definition poll (lanes : nat) : list choice := [Poll; Count] ++ repeat Look (S lanes).

(* ---- with the code's rules --------------------------------------------------------- *)

(*
   Coroutine 0 goes from thread 0 to thread 1 and back; on thread 1 the counter is read too early,
   and its time is moved forward.  Thread 0 has another coroutine in between.
*)
Definition moves : list choice :=
  [Open; Open] ++ ticking 5 ++ event 0 0 0 ++ [Hand 0 1] ++ event 1 0 1 ++ event 0 1 0
  ++ ticking 4 ++ [Hand 0 0] ++ event 0 0 0 ++ ticking 2
  ++ poll 2 ++ [Take 0; Take 0; Take 1; Take 0; Done].

Theorem a_coroutine_moves : exists cs s, runs (ours 1 2) cs = Some s
  /\ numbers s 0 = [0; 1; 2] /\ numbers s 1 = [0]
  /\ map ticks (out (con s)) = [5; 5; 6; 9]
  /\ map number (lane (prog s) 1) = [1].
Proof.
  exists moves.
  destruct (led_to (ours 1 2) moves (fun s => same_numbers (numbers s 0) [0; 1; 2]
    && same_numbers (numbers s 1) [0] && same_numbers (map ticks (out (con s))) [5; 5; 6; 9]
    && same_numbers (map number (lane (prog s) 1)) [1])) as (s & R & F); [vm_compute; reflexivity|].
  repeat (apply andb_true_iff in F; destruct F as [F ?]).
  exists s; repeat split; try assumption; apply same_numbers_eq; assumption.
Qed.

(*
   Coroutine 1 makes three events in one tick, so that two of them are moved forward; coroutine 0 makes
   one on the same thread in the same tick, which is moved forward to the lane's time, and its next
   one on another thread.
*)
Definition stands_still : list choice :=
  [Open; Open] ++ ticking 5 ++ event 0 1 0 ++ event 0 1 0 ++ event 0 1 0
  ++ event 0 0 0 ++ [Hand 0 1] ++ event 1 0 0 ++ ticking 5 ++ poll 2.

Theorem a_counter_stands_still : exists cs s, runs (ours 0 1) cs = Some s
  /\ numbers s 0 = [0; 1] /\ numbers s 1 = [0; 1; 2]
  /\ map ticks (out (con s)) = [5; 6; 7; 7; 8]
  /\ map number (lane (prog s) 1) = [1].
Proof.
  exists (stands_still ++ [Take 0; Take 0; Take 0; Take 0; Take 1; Done]).
  destruct (led_to (ours 0 1) (stands_still ++ [Take 0; Take 0; Take 0; Take 0; Take 1; Done])
    (fun s => same_numbers (numbers s 0) [0; 1]
    && same_numbers (numbers s 1) [0; 1; 2] && same_numbers (map ticks (out (con s))) [5; 6; 7; 7; 8]
    && same_numbers (map number (lane (prog s) 1)) [1])) as (s & R & F); [vm_compute; reflexivity|].
  repeat (apply andb_true_iff in F; destruct F as [F ?]).
  exists s; repeat split; try assumption; apply same_numbers_eq; assumption.
Qed.

(* ---- without one of them ----------------------------------------------------------------- *)

(* The first event that is handed on of some coroutine is not its first. *)
Definition disordered (s : state) : Prop :=
  exists c, numbers s c <> seq 0 (length (numbers s c)).

Lemma breaks : forall rule cs c, leads_to rule cs (fun s => same_numbers (numbers s c) [1]) = true ->
  exists cs s, runs rule cs = Some s /\ disordered s.
Proof.
  intros rule cs c H; destruct (led_to _ _ _ H) as (s & R & F); apply same_numbers_eq in F.
  exists cs, s; split; [assumption|]. exists c; rewrite F; discriminate.
Qed.

(* ctp_life_tick() does not move a time forward: the second event, read early, is the earlier one. *)
Theorem necessity_of_forward : exists cs s,
  runs (Rules 1 2 ClockFirst false true true) cs = Some s /\ disordered s.
Proof.
  apply (breaks _ ([Open; Open] ++ ticking 5 ++ event 0 0 0 ++ [Hand 0 1] ++ event 1 0 1
    ++ ticking 5 ++ poll 2 ++ [Take 1]) 0); vm_compute; reflexivity.
Qed.

(* The moment that a poll leaves out is as short as a reading is early. *)
Theorem necessity_of_moment : exists cs s,
  runs (Rules 2 2 ClockFirst true true true) cs = Some s /\ disordered s.
Proof.
  apply (breaks _ ([Open; Open] ++ ticking 5 ++ [Read 0 0 0] ++ ticking 5 ++ [Poll; Count; Look]
    ++ [Append 0; Show 0; Hand 0 1] ++ event 1 0 2 ++ [Look; Look; Take 1]) 0); vm_compute; reflexivity.
Qed.

(* The heads before the clock. *)
Theorem necessity_of_clock_before_heads : exists cs s,
  runs (Rules 0 1 HeadsFirst true true true) cs = Some s /\ disordered s.
Proof.
  apply (breaks _ ([Open; Open] ++ ticking 5 ++ [Count; Look] ++ event 0 0 0 ++ [Hand 0 1]
    ++ event 1 0 0 ++ [Look; Look] ++ ticking 5 ++ [Poll; Take 1]) 0); vm_compute; reflexivity.
Qed.

(* The number of lanes before the clock: a lane that is opened in between is left out. *)
Theorem necessity_of_clock_before_count : exists cs s,
  runs (Rules 0 1 CountFirst true true true) cs = Some s /\ disordered s.
Proof.
  apply (breaks _ ([Open; Count; Open] ++ ticking 5 ++ [Hand 0 1] ++ event 1 0 0 ++ [Hand 0 0]
    ++ event 0 0 0 ++ ticking 5 ++ [Poll; Look; Look; Take 0]) 0); vm_compute; reflexivity.
Qed.

(* A hand-over does not pass on what was written. *)
Theorem necessity_of_handover : exists cs s,
  runs (Rules 0 1 ClockFirst true true false) cs = Some s /\ disordered s.
Proof.
  apply (breaks _ ([Open; Open] ++ ticking 5 ++ [Read 0 0 0; Append 0; Hand 0 1] ++ event 1 0 0
    ++ ticking 5 ++ poll 2 ++ [Take 1]) 0); vm_compute; reflexivity.
Qed.

(*
   A thread does not keep the last time of its lane, so that the times of the lane may decrease: the run
   of a_counter_stands_still, with the event of coroutine 0 back at the counter's time.
*)
Theorem necessity_of_steady_lanes : exists cs s,
  runs (Rules 0 1 ClockFirst true false true) cs = Some s /\ disordered s.
Proof.
  apply (breaks _ (stands_still ++ [Take 0; Take 0; Take 1]) 0); vm_compute; reflexivity.
Qed.

(* For proof/check-coq: together they must be "Closed under the global context". *)
Definition all_theorems := (
  @lanes_are_steady,
  @ahead_at_most_by_events,
  @merged_in_order,
  @merged_times_increase,
  @merged_once,
  @poll_in_time_order,
  @a_coroutine_moves,
  @a_counter_stands_still,
  @necessity_of_forward,
  @necessity_of_moment,
  @necessity_of_clock_before_heads,
  @necessity_of_clock_before_count,
  @necessity_of_handover,
  @necessity_of_steady_lanes).
Print Assumptions all_theorems.
