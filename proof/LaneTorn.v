(* SPDX-License-Identifier: MIT *)
(*
   LaneTorn.v - necessity: what the model allows when an order of the lanes is missing.

   Runs on the machine of Memory.v, each executed step by step, and one with the code's
   orders: a chunk is read, given back, taken by another thread and read again, so
   that the theorems of LaneTheorems.v are not about nothing.
*)
Require Import Arith List Lia Bool.
Require Import Memory Lane LaneInv.
Import ListNotations.

(* Chunks of one record, and events of one. *)
Definition example (l k : nat) : item := [[1; 10 * l + k; 50; 0]].

Definition runs (o : orders) (cs : list choice) : option state :=
  run 1 4 example o state0 cs.

Definition relaxed_publish := Orders Relaxed Ordered Ordered Ordered Ordered Ordered true true.
Definition relaxed_look := Orders Ordered Relaxed Ordered Ordered Ordered Ordered true true.
Definition relaxed_state := Orders Ordered Ordered Relaxed Ordered Ordered Ordered true true.
Definition relaxed_state_look := Orders Ordered Ordered Ordered Relaxed Ordered Ordered true true.
Definition relaxed_give := Orders Ordered Ordered Ordered Ordered Relaxed Ordered true true.
Definition relaxed_pop := Orders Ordered Ordered Ordered Ordered Ordered Relaxed true true.

(* ---- what a run leads to -------------------------------------------------------------------- *)

Definition same_records (a b : list item) : bool :=
  if list_eq_dec (list_eq_dec (list_eq_dec Nat.eq_dec)) a b then true else false.

Lemma same_records_eq : forall a b, same_records a b = true -> a = b.
Proof.
  intros a b; unfold same_records; destruct (list_eq_dec (list_eq_dec (list_eq_dec Nat.eq_dec)) a b); congruence.
Qed.

Definition leads_to (o : orders) (cs : list choice) (f : state -> bool) : bool :=
  match runs o cs with Some s => f s | None => false end.

Lemma led_to : forall o cs f, leads_to o cs f = true ->
  exists s, runs o cs = Some s /\ f s = true.
Proof.
  intros o cs f H; unfold leads_to in H; destruct (runs o cs) as [s|]; [eauto|discriminate].
Qed.

(* ---- the parts of a run -------------------------------------------------------------------- *)

Definition go (l : nat) (ts : list nat) : list choice := map (Go l) ts.
Definition collect (ts : list nat) : list choice := map (Collect Continue) ts.

(* Take a chunk that was never used (the top is read at t, used at u), and clear its link. *)
Definition extend (l t u : nat) := go l [0; t; u; 0; 0].
Definition open (l : nat) := go l [0; 0].
Definition link (l : nat) := go l [0].
Definition write (l : nat) := go l [0; 0; 0; 0; 0; 0].

(* Look at a lane that is not yet adopted: state 1, the first chunk, the head at h. *)
Definition adopt_lane (l h : nat) := Collect (Look l) 1 :: collect [1; h; 0].
Definition look (l state h : nat) := Collect (Look l) state :: collect [h; 0].
(* Read a record, its words at these positions. *)
Definition take (l : nat) (ts : list nat) := Collect (Take l) 0 :: collect ts.

(* ---- with the code's orders ------------------------------------------------------------------ *)

(* Thread 0 writes two events, in chunks 0 and 1; the collector reads both, and gives back
   chunk 0. *)
Definition two_events : list choice :=
  extend 0 0 0 ++ open 0 ++ write 0 ++ extend 0 0 1 ++ link 0 ++ write 0.
Definition read_two : list choice :=
  adopt_lane 0 2 ++ take 0 [1; 1; 1; 1] ++ [Collect (Turn 0) 2] ++ take 0 [1; 1; 1; 1].
Definition give_first : list choice := Collect (Return 0) 0 :: collect [0; 0; 0].

(* Thread 1 takes chunk 0 from the pool (its link is read at t), and writes into it. *)
Definition reuse (t : nat) : list choice := go 1 [0; 1; t; 0; 0; 0; 0] ++ write 1.
Definition read_reused : list choice := adopt_lane 1 1 ++ take 1 [2; 2; 2; 2].

Definition chunk_is (s : state) (l j c : nat) : bool :=
  match nth_error (chain (prod s l)) j with Some c' => c' =? c | None => false end.

Lemma chunk_is_eq : forall s l j c, chunk_is s l j c = true ->
  nth_error (chain (prod s l)) j = Some c.
Proof.
  intros s l j c; unfold chunk_is; destruct (nth_error _ j) as [c'|]; [|discriminate].
  intro H; apply Nat.eqb_eq in H; congruence.
Qed.

(* All that is accepted was published, and chunk 0 was in both lanes, one after the other. *)
Theorem a_chunk_comes_back : exists cs s, runs ours cs = Some s
  /\ accepted (lane (con s) 0) = [example 0 0; example 0 1]
  /\ accepted (lane (con s) 1) = [example 1 0]
  /\ nth_error (chain (prod s 0)) 0 = Some 0 /\ nth_error (chain (prod s 1)) 0 = Some 0.
Proof.
  exists (two_events ++ read_two ++ give_first ++ reuse 3 ++ read_reused).
  destruct (led_to ours (two_events ++ read_two ++ give_first ++ reuse 3 ++ read_reused)
    (fun s => same_records (accepted (lane (con s) 0)) [example 0 0; example 0 1]
              && same_records (accepted (lane (con s) 1)) [example 1 0]
              && chunk_is s 0 0 0 && chunk_is s 1 0 0)) as (s & R & F); [vm_compute; reflexivity|].
  repeat (apply andb_true_iff in F; destruct F as [F ?]).
  exists s; split; [exact R|]; split; [apply same_records_eq; assumption|].
  split; [apply same_records_eq; assumption|]. split; apply chunk_is_eq; assumption.
Qed.

(* ---- the head ------------------------------------------------------------------------------ *)

(* The collector has accepted something else than the beginning of what was published. *)
Definition broken (s : state) : Prop :=
  ~ exists done rest, items (prod s 0) = done ++ rest /\ accepted (lane (con s) 0) = kept done.

(* One event; the first word of its record is seen, the others are not. *)
Definition torn_run : list choice :=
  extend 0 0 0 ++ open 0 ++ write 0 ++ adopt_lane 0 1 ++ take 0 [1; 0; 0; 0].

Definition is_torn (s : state) : bool :=
  same_records (items (prod s 0)) [example 0 0]
  && same_records (accepted (lane (con s) 0)) [[[1; 0; 0; 0]]].

Lemma torn_is_broken : forall o, leads_to o torn_run is_torn = true ->
  exists cs s, runs o cs = Some s /\ broken s.
Proof.
  intros o H; destruct (led_to _ _ _ H) as (s & R & F); exists torn_run, s; split; [assumption|].
  apply andb_true_iff in F; destruct F as [L A]; apply same_records_eq in L, A.
  intros (done & rest & E & K); rewrite L in E; rewrite A in K.
  destruct done as [|x [|y done]]; try discriminate; injection E as <- _; discriminate.
Qed.

Theorem necessity_of_publish : exists cs s, runs relaxed_publish cs = Some s /\ broken s.
Proof. apply torn_is_broken; vm_compute; reflexivity. Qed.

Theorem necessity_of_look : exists cs s, runs relaxed_look cs = Some s /\ broken s.
Proof. apply torn_is_broken; vm_compute; reflexivity. Qed.

(* ---- the state ------------------------------------------------------------------------------- *)

(* The lane is seen open, and its first chunk is not. *)
Definition early_run : list choice :=
  extend 0 0 0 ++ open 0 ++ [Collect (Look 0) 1; Collect Continue 0].

Lemma early_is_corrupt : forall o, leads_to o early_run (fun s => corrupt (con s) =? 1) = true ->
  exists cs s, runs o cs = Some s /\ corrupt (con s) = 1.
Proof.
  intros o H; destruct (led_to _ _ _ H) as (s & R & F); exists early_run, s; split; [assumption|].
  apply Nat.eqb_eq; assumption.
Qed.

Theorem necessity_of_open : exists cs s, runs relaxed_state cs = Some s /\ corrupt (con s) = 1.
Proof. apply early_is_corrupt; vm_compute; reflexivity. Qed.

Theorem necessity_of_state_look : exists cs s,
  runs relaxed_state_look cs = Some s /\ corrupt (con s) = 1.
Proof. apply early_is_corrupt; vm_compute; reflexivity. Qed.

(* The lane is seen closed, and its last head is not: a record is left behind. *)
Definition left_run : list choice :=
  extend 0 0 0 ++ open 0 ++ write 0 ++ Close 0 :: Collect (Look 0) 2 :: collect [1; 0; 0].

Definition left_behind (s : state) : Prop :=
  orphan (lane (con s) 0) = true /\ taken (lane (con s) 0) = head (lane (con s) 0)
  /\ taken (lane (con s) 0) < length (log (prod s 0)).

Lemma left_found : forall o,
  leads_to o left_run (fun s => orphan (lane (con s) 0)
    && (taken (lane (con s) 0) =? head (lane (con s) 0))
    && (taken (lane (con s) 0) <? length (log (prod s 0)))) = true ->
  exists cs s, runs o cs = Some s /\ left_behind s.
Proof.
  intros o H; destruct (led_to _ _ _ H) as (s & R & F); exists left_run, s; split; [assumption|].
  repeat (apply andb_true_iff in F; destruct F as [F ?]).
  split; [assumption|]; split; [apply Nat.eqb_eq|apply Nat.ltb_lt]; assumption.
Qed.

Theorem necessity_of_close : exists cs s, runs relaxed_state cs = Some s /\ left_behind s.
Proof. apply left_found; vm_compute; reflexivity. Qed.

(* ---- the pool -------------------------------------------------------------------------------- *)

(*
   Thread 1 takes chunk 0 and reads a link that thread 0 stored when the chunk was in its
   lane: the pool's top becomes chunk 1, in which thread 0 still writes.
*)
Definition shared_run : list choice :=
  two_events ++ read_two ++ give_first ++ reuse 2 ++ go 1 [0; 2; 1; 0; 0; 0] ++ write 1.

(* Both lanes end in chunk 1, which the collector has not given back. *)
Definition shared (s : state) : Prop :=
  nth_error (chain (prod s 0)) 1 = Some 1 /\ nth_error (chain (prod s 1)) 1 = Some 1
  /\ given (lane (con s) 0) = 1 /\ given (lane (con s) 1) = 0.

Lemma shared_found : forall o,
  leads_to o shared_run (fun s => chunk_is s 0 1 1 && chunk_is s 1 1 1
    && (given (lane (con s) 0) =? 1) && (given (lane (con s) 1) =? 0)) = true ->
  exists cs s, runs o cs = Some s /\ shared s.
Proof.
  intros o H; destruct (led_to _ _ _ H) as (s & R & F); exists shared_run, s; split; [assumption|].
  repeat (apply andb_true_iff in F; destruct F as [F ?]).
  split; [apply chunk_is_eq; assumption|]; split; [apply chunk_is_eq; assumption|].
  split; apply Nat.eqb_eq; assumption.
Qed.

Theorem necessity_of_give : exists cs s, runs relaxed_give cs = Some s /\ shared s.
Proof. apply shared_found; vm_compute; reflexivity. Qed.

Theorem necessity_of_pop : exists cs s, runs relaxed_pop cs = Some s /\ shared s.
Proof. apply shared_found; vm_compute; reflexivity. Qed.
