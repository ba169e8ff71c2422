(* SPDX-License-Identifier: MIT *)
(*
   ReuseRuns.v - a run of Reuse.v in which a lane is used twice, and what happens without each rule.
*)
Require Import Arith List Lia Bool.
Require Import Memory Reuse ReuseInv.
Import ListNotations.

Definition runs (o : rules) (cs : list choice) : option state := run o state0 cs.

Definition leads_to (o : rules) (cs : list choice) (f : state -> bool) : bool :=
  match runs o cs with Some s => f s | None => false end.

Lemma led_to : forall o cs f, leads_to o cs f = true -> exists s, runs o cs = Some s /\ f s = true.
Proof. intros o cs f H; unfold leads_to in H; destruct (runs o cs) as [s|]; [eauto|discriminate]. Qed.

Definition same (a b : list nat) : bool := if list_eq_dec Nat.eq_dec a b then true else false.

Lemma same_eq : forall a b, same a b = true -> a = b.
Proof. intros a b; unfold same; destruct (list_eq_dec Nat.eq_dec a b); congruence. Qed.

(* Thread t opens lane 0, and publishes v. *)
Definition opens (t : nat) : list choice := [Take t 0; Go t; Go t].
Definition writes (t v : nat) : list choice := [Event t v; Go t; Go t].

(* The state, the head and the record are read at these positions. *)
Definition reads (st h r : nat) : list choice := [Look 0 st; Continue h; Read 0 r].

(* Thread 0 leaves the lane, which is read and given back. *)
Definition first_use : list choice := opens 0 ++ writes 0 7 ++ [Leave 0] ++ reads 2 2 1 ++ [Free 0].
(* Thread 1 uses it, and dies in the middle of the next record. *)
Definition second_use : list choice :=
  opens 1 ++ writes 1 9 ++ [Event 1 8; Go 1; Die 1; Mourn 0] ++ reads 4 4 2 ++ [Free 0].

Definition uses_are (s : state) (a b : list nat) : bool :=
  match past s 0 with
  | [(a1, a2); (b1, b2)] => same a1 a && same a2 a && same b1 b && same b2 b
  | _ => false
  end.

Theorem a_lane_is_used_again : exists cs s, runs ours cs = Some s
  /\ past s 0 = [([7], [7]); ([9], [9])] /\ newest (mem s) (Rec 0 1) = 8.
Proof.
  exists (first_use ++ second_use).
  destruct (led_to ours (first_use ++ second_use)
    (fun s => uses_are s [7] [9] && (newest (mem s) (Rec 0 1) =? 8))) as (s & R & F);
    [vm_compute; reflexivity|].
  apply andb_true_iff in F; destruct F as [F N]; apply Nat.eqb_eq in N.
  exists s; split; [exact R|clear R]; split; [|exact N]. unfold uses_are in F.
  destruct (past s 0) as [|[a1 a2] [|[b1 b2] [|? ?]]]; try discriminate.
  repeat (apply andb_true_iff in F; destruct F as [F ?]).
  repeat match goal with H : same _ _ = true |- _ => apply same_eq in H; subst end; reflexivity.
Qed.

(* ---- without one of the rules ------------------------------------------------------------ *)

Definition relaxed_open := Rules Relaxed Ordered true true true true.
Definition relaxed_state_look := Rules Ordered Relaxed true true true true.
Definition no_reset := Rules Ordered Ordered false true true true.
Definition not_freed := Rules Ordered Ordered true false true true.
Definition not_read := Rules Ordered Ordered true true false true.
Definition no_pool_view := Rules Ordered Ordered true true true false.

(* The collector has a record that the lane's present thread has not published. *)
Definition taken_twice (s : state) : Prop := got (lane (con s) 0) = [7] /\ log s 0 = []
  /\ past s 0 = [([7], [7])].

Definition is_taken_twice (s : state) : bool :=
  same (got (lane (con s) 0)) [7] && same (log s 0) []
  && match past s 0 with [(a, b)] => same a [7] && same b [7] | _ => false end.

Lemma twice : forall o cs, leads_to o cs is_taken_twice = true ->
  exists cs s, runs o cs = Some s /\ taken_twice s.
Proof.
  intros o cs H; destruct (led_to _ _ _ H) as (s & R & F); exists cs, s; split; [exact R|clear R H].
  unfold is_taken_twice in F; repeat (apply andb_true_iff in F; destruct F as [F ?]).
  destruct (past s 0) as [|[a b] [|? ?]] eqn:E; try discriminate.
  match goal with H : same a _ && same b _ = true |- _ => apply andb_true_iff in H; destruct H end.
  repeat match goal with H : same _ _ = true |- _ => apply same_eq in H end; subst.
  unfold taken_twice; rewrite E; auto.
Qed.

(* The lane is seen open, and its head is the one of its use before. *)
Definition stale_head : list choice := first_use ++ opens 1 ++ reads 4 2 1.

Theorem necessity_of_open : exists cs s, runs relaxed_open cs = Some s /\ taken_twice s.
Proof. apply (twice _ stale_head); vm_compute; reflexivity. Qed.

Theorem necessity_of_state_look : exists cs s, runs relaxed_state_look cs = Some s /\ taken_twice s.
Proof. apply (twice _ stale_head); vm_compute; reflexivity. Qed.

Theorem necessity_of_reset : exists cs s, runs no_reset cs = Some s /\ taken_twice s.
Proof. apply (twice _ (opens 0 ++ writes 0 7 ++ [Leave 0] ++ reads 2 1 1 ++ [Free 0] ++ opens 1 ++ reads 4 1 1)); vm_compute; reflexivity. Qed.

(* The lane is in the pool, and its state still says closed. *)
Theorem necessity_of_free_state : exists cs s, runs not_freed cs = Some s /\ taken_twice s.
Proof. apply (twice _ (first_use ++ reads 2 2 1)); vm_compute; reflexivity. Qed.

(* The lane is given back before it is read. *)
Definition lost_record (s : state) : Prop := past s 0 = [([7], [])].

Theorem necessity_of_reading : exists cs s, runs not_read cs = Some s /\ lost_record s.
Proof.
  destruct (led_to not_read (opens 0 ++ writes 0 7 ++ [Leave 0; Look 0 2; Continue 2; Free 0])
    (fun s => match past s 0 with [(a, b)] => same a [7] && same b [] | _ => false end))
    as (s & R & F); [vm_compute; reflexivity|].
  eexists; exists s; split; [exact R|clear R]. unfold lost_record.
  destruct (past s 0) as [|[a b] [|? ?]]; try discriminate.
  apply andb_true_iff in F; destruct F as [A B]; apply same_eq in A, B; subst; reflexivity.
Qed.

(* The pool passes nothing on: the next thread stores into a lane of which it has not seen the last
   stores, so that its own need not come after them. *)
Theorem necessity_of_pool : exists cs s, runs no_pool_view cs = Some s
  /\ pc (work s 1) = TReset 0 /\ ~ covers (mem s) (cur (th (work s 1))) (Head 0).
Proof.
  destruct (led_to no_pool_view (first_use ++ [Take 1 0])
    (fun s => match pc (work s 1) with TReset 0 => true | _ => false end
       && negb (length (mem s (Head 0)) <=? S (cur (th (work s 1)) (Head 0))))) as (s & R & F);
    [vm_compute; reflexivity|].
  apply andb_true_iff in F; destruct F as [P C]; apply negb_true_iff, Nat.leb_gt in C.
  eexists; exists s; split; [exact R|clear R]; split.
  - destruct (pc (work s 1)) as [|[|]| | | |]; try discriminate; reflexivity.
  - unfold covers; lia.
Qed.

(* For proof/check-coq: together they must be "Closed under the global context". *)
Definition all_theorems := (
  @reuse_safety,
  @one_thread_per_lane,
  @read_to_the_end,
  @taken_when_read,
  @lane_stores_are_newest,
  @a_lane_is_used_again,
  @necessity_of_open,
  @necessity_of_state_look,
  @necessity_of_reset,
  @necessity_of_free_state,
  @necessity_of_reading,
  @necessity_of_pool).
Print Assumptions all_theorems.
