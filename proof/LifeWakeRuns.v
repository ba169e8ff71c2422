(* SPDX-License-Identifier: MIT *)
(* LifeWakeRuns.v - runs with wake-ups, and what happens when the program does not do its part. *)
Require Import Arith List Lia Bool.
Require Import Memory Life LifeInv LifeTheorems LifeEvents LifeTorn LifeWake.
Import ListNotations.

Definition wakes_in (o : orders) (keeps passes : bool) (cs : list wchoice) : option wstate :=
  wrun 4 o keeps passes wstate0 cs.

(* The only wake-up named this id, for this life of entry 0, whose ids are these. *)
Definition woken (w : wstate) (k id : nat) (ids : list nat) : bool :=
  match wakes w with
  | [x] => (w_entry x =? 0) && (w_life x =? k) && (w_id x =? id) && same (lives (base w) 0) ids
  | _ => false
  end.

Lemma woken_found : forall o keeps passes cs k id ids,
  match wakes_in o keeps passes cs with Some w => woken w k id ids | None => false end = true ->
  exists cs w, wakes_in o keeps passes cs = Some w
    /\ wakes w = [Wake 0 k id] /\ lives (base w) 0 = ids.
Proof.
  intros o keeps passes cs k id ids H; destruct (wakes_in o keeps passes cs) as [w|] eqn:R; [|discriminate].
  exists cs, w; split; [exact R|clear R]. unfold woken in H.
  destruct (wakes w) as [|[e k' i] [|? ?]]; try discriminate; cbn in H.
  repeat (apply andb_true_iff in H; destruct H as [H ?]).
  repeat match goal with E : (_ =? _) = true |- _ => apply Nat.eqb_eq in E end; subst.
  split; [reflexivity|apply same_eq; assumption].
Qed.

(*
   Thread 0 has a coroutine, its second in the entry, and gives thread 3 a handle, which thread 4
   gets from it; the coroutine goes to thread 1 and makes an event; thread 4 wakes it.
*)
Definition woken_run : list wchoice :=
  map Plain two_lives ++ [Lend 0 3 0; Pass (Handle 3 0 1) 4]
  ++ map Plain ([Life.Give 0 0; Life.Take 1 0] ++ event_at 1 30 3 2 2) ++ [WakeUp (Handle 4 0 1) 3].

Theorem a_coroutine_is_woken : forall o, o = fenced \/ o = multi_copy ->
  exists cs w, wakes_in o true true cs = Some w
    /\ wakes w = [Wake 0 1 2] /\ lives (base w) 0 = [1; 2].
Proof. intros o [-> | ->]; apply (woken_found _ _ _ woken_run); vm_compute; reflexivity. Qed.

(* The handle does not pass on what was seen: the coroutine before is named. *)
Theorem necessity_of_handles_view : exists cs w, wakes_in fenced true false cs = Some w
  /\ wakes w = [Wake 0 1 1] /\ lives (base w) 0 = [1; 2].
Proof.
  apply (woken_found _ _ _ (map Plain two_lives ++ [Lend 0 3 0; WakeUp (Handle 3 0 1) 1]));
    vm_compute; reflexivity.
Qed.

(* The coroutine is destroyed while a thread may wake it: the one after it is named. *)
Theorem necessity_of_keeping : exists cs w, wakes_in fenced false true cs = Some w
  /\ wakes w = [Wake 0 0 2] /\ lives (base w) 0 = [1; 2].
Proof.
  apply (woken_found _ _ _ (map Plain (Life.Take 0 0 :: begins 0 10) ++ [Lend 0 3 0]
    ++ map Plain (frees 0 ++ begins 0 20) ++ [WakeUp (Handle 3 0 0) 3])); vm_compute; reflexivity.
Qed.

(* For proof/check-coq: together they must be "Closed under the global context". *)
Definition all_theorems := (
  @life_is_whole,
  @ids_are_unique,
  @never_the_successor,
  @stores_are_newest,
  @events_name_their_life,
  @events_across_threads,
  @a_life_is_handed_over,
  @necessity_of_begin_fence,
  @necessity_of_readers_fence,
  @necessity_of_id,
  @necessity_of_id_look,
  @necessity_of_handover_fence,
  @wakes_name_their_target,
  @a_coroutine_is_woken,
  @necessity_of_handles_view,
  @necessity_of_keeping).
Print Assumptions all_theorems.
