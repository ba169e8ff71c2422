(* SPDX-License-Identifier: MIT *)
(*
   LaneParts.v - runs of Lane.v with events of several records: padding in a chunk that was used
   before, a gap, a thread that dies in the middle of an event; and what happens when an event is
   published before it is written, or the rest of a chunk without a record that says so.
*)
Require Import Arith List Lia Bool.
Require Import Memory Lane LaneInv LaneTorn.
Import ListNotations.

(*
   Chunks of four records.  The first event of thread 0 has four records, the first two of thread 1
   have two and three; the others have one.  All but the first record of an event look like events of
   one record.
*)
Definition size_of (l k : nat) : nat :=
  match l, k with 0, 0 => 4 | 1, 0 => 2 | 1, 1 => 3 | _, _ => 1 end.

Definition parts (l k : nat) : item :=
  [1; 10 * l + k; 50; size_of l k - 1] :: map (fun i => [1; 10 * l + k; i; 0]) (seq 1 (size_of l k - 1)).

(* The theorems of LaneTheorems.v hold for these events. *)
Lemma parts_ok : forall l k, event_ok 4 (parts l k).
Proof.
  intros l k; unfold event_ok, parts; cbn [length hd followers nth padding is_pad].
  rewrite map_length, seq_length.
  assert (S : 0 < size_of l k <= 4) by (destruct l as [|[|l]], k as [|[|k]]; cbn; lia).
  split; [lia|]; split.
  - intros r [<-|I]; [reflexivity|]. apply in_map_iff in I; destruct I as (i & <- & _); reflexivity.
  - repeat split; lia.
Qed.

Definition runs_parts (o : orders) (cs : list choice) : option state := run 4 4 parts o state0 cs.

Definition leads_in_parts (o : orders) (cs : list choice) (f : state -> bool) : bool :=
  match runs_parts o cs with Some s => f s | None => false end.

Lemma led_in_parts : forall o cs f, leads_in_parts o cs f = true ->
  exists s, runs_parts o cs = Some s /\ f s = true.
Proof.
  intros o cs f H; unfold leads_in_parts in H; destruct (runs_parts o cs) as [s|]; [eauto|discriminate].
Qed.

(* An event of nr records is written; or read, its words at position t. *)
Definition writes (l nr : nat) : list choice := go l (repeat 0 (4 * nr + 2)).
Definition takes (l nr t : nat) : list choice := Collect (Take l) 0 :: collect (repeat t (4 * nr)).

(* Thread 0 writes an event of four records and one of one, in two chunks; the collector reads both,
   and gives the first chunk back. *)
Definition used_once : list choice :=
  extend 0 0 0 ++ open 0 ++ writes 0 4 ++ extend 0 0 1 ++ link 0 ++ writes 0 1
  ++ adopt_lane 0 2 ++ takes 0 4 1 ++ [Collect (Turn 0) 2] ++ takes 0 1 1 ++ give_first.

(* Thread 1 takes it, and writes an event of two records: two are left. *)
Definition used_again : list choice := go 1 [0; 1; 3; 0; 0; 0; 0] ++ writes 1 2.

(* The next event has three: one record says that the rest is empty, the last one is as thread 0 has
   left it. *)
Definition padded : list choice :=
  used_once ++ used_again ++ writes 1 1 ++ extend 1 2 2 ++ link 1 ++ writes 1 3
  ++ adopt_lane 1 3 ++ takes 1 2 2 ++ takes 1 1 2 ++ [Collect (Turn 1) 5] ++ takes 1 3 1.

Theorem padding_is_passed : exists cs s, runs_parts ours cs = Some s
  /\ accepted (lane (con s) 0) = [parts 0 0; parts 0 1]
  /\ accepted (lane (con s) 1) = [parts 1 0; parts 1 1]
  /\ items (prod s 1) = [parts 1 0; [pad_record; [1; 0; 3; 0]]; parts 1 1].
Proof.
  exists padded.
  destruct (led_in_parts ours padded
    (fun s => same_records (accepted (lane (con s) 0)) [parts 0 0; parts 0 1]
              && same_records (accepted (lane (con s) 1)) [parts 1 0; parts 1 1]
              && same_records (items (prod s 1)) [parts 1 0; [pad_record; [1; 0; 3; 0]]; parts 1 1]))
    as (s & R & F); [vm_compute; reflexivity|].
  repeat (apply andb_true_iff in F; destruct F as [F ?]).
  exists s; split; [exact R|]; split; [|split]; apply same_records_eq; assumption.
Qed.

(* Event 1 of thread 0 finds no chunk; event 2 does. *)
Definition dropped_run : list choice :=
  extend 0 0 0 ++ open 0 ++ writes 0 4 ++ [Go 0 0; GiveUp 0; Go 0 0]
  ++ extend 0 0 1 ++ link 0 ++ writes 0 1 ++ writes 0 1
  ++ Collect (Look 0) 1 :: collect [1; 3; 1]
  ++ takes 0 4 1 ++ [Collect (Turn 0) 2] ++ takes 0 1 1 ++ takes 0 1 1.

Theorem a_gap_is_between_events : exists cs s, runs_parts ours cs = Some s
  /\ accepted (lane (con s) 0) = [parts 0 0; [gap_record 1]; parts 0 2] /\ dropped (prod s 0) = 1.
Proof.
  exists dropped_run.
  destruct (led_in_parts ours dropped_run
    (fun s => same_records (accepted (lane (con s) 0)) [parts 0 0; [gap_record 1]; parts 0 2]
              && (dropped (prod s 0) =? 1))) as (s & R & F); [vm_compute; reflexivity|].
  apply andb_true_iff in F; destruct F as [F1 F2].
  exists s; split; [exact R|]; split; [apply same_records_eq|apply Nat.eqb_eq]; assumption.
Qed.

(* A thread dies when the first of four records is written, and a part of the second. *)
Definition died_run : list choice :=
  extend 0 0 0 ++ open 0 ++ go 0 (repeat 0 7) ++ [Die 0; Mourn 0] ++ adopt_lane 0 0.

Theorem a_part_is_left : exists cs s, runs_parts ours cs = Some s
  /\ newest (mem s) (Word 0 0 0) = 1 /\ newest (mem s) (Word 0 1 1) = 0
  /\ newest (mem s) (Word 0 1 0) = 1
  /\ orphan (lane (con s) 0) = true /\ taken (lane (con s) 0) = head (lane (con s) 0)
  /\ accepted (lane (con s) 0) = [].
Proof.
  exists died_run.
  destruct (led_in_parts ours died_run
    (fun s => (newest (mem s) (Word 0 0 0) =? 1) && (newest (mem s) (Word 0 1 1) =? 0)
              && (newest (mem s) (Word 0 1 0) =? 1)
              && orphan (lane (con s) 0) && (taken (lane (con s) 0) =? head (lane (con s) 0))
              && same_records (accepted (lane (con s) 0)) [])) as (s & R & F); [vm_compute; reflexivity|].
  repeat (apply andb_true_iff in F; destruct F as [F ?]).
  exists s; repeat split; try exact R; try (apply Nat.eqb_eq); try assumption.
  apply same_records_eq; assumption.
Qed.

(* ---- what is needed ---------------------------------------------------------------------- *)

Definition head_early := Orders Ordered Ordered Ordered Ordered Ordered Ordered false true.
Definition no_padding := Orders Ordered Ordered Ordered Ordered Ordered Ordered true false.

(* The head is stored after the first record: the collector takes what was there before, an event of
   thread 2, for the other one. *)
Definition mixed_run : list choice :=
  extend 2 0 0 ++ open 2 ++ writes 2 1 ++ writes 2 1 ++ writes 2 1 ++ writes 2 1
  ++ extend 2 0 1 ++ link 2 ++ writes 2 1
  ++ adopt_lane 2 5 ++ takes 2 1 1 ++ takes 2 1 1 ++ takes 2 1 1 ++ takes 2 1 1
  ++ [Collect (Turn 2) 2] ++ takes 2 1 1 ++ Collect (Return 2) 0 :: collect [0; 0; 0]
  ++ go 1 [0; 1; 3; 0; 0; 0; 0] ++ writes 1 1
  ++ adopt_lane 1 1 ++ Collect (Take 1) 0 :: collect ([2; 2; 2; 2] ++ [1; 1; 1; 1]).

Theorem necessity_of_one_publish : exists cs s, runs_parts head_early cs = Some s
  /\ accepted (lane (con s) 1) = [[hd [] (parts 1 0); hd [] (parts 2 1)]].
Proof.
  exists mixed_run.
  destruct (led_in_parts head_early mixed_run
    (fun s => same_records (accepted (lane (con s) 1)) [[hd [] (parts 1 0); hd [] (parts 2 1)]]))
    as (s & R & F); [vm_compute; reflexivity|].
  exists s; split; [exact R|apply same_records_eq; exact F].
Qed.

(* The head passes the rest of the chunk, and no record says that it is empty: a part of an event of
   thread 0 is taken for an event of thread 1. *)
Definition stale_run : list choice :=
  used_once ++ used_again ++ go 1 [0; 0] ++ adopt_lane 1 2 ++ takes 1 2 2 ++ takes 1 1 1.

Theorem necessity_of_padding : exists cs s, runs_parts no_padding cs = Some s
  /\ accepted (lane (con s) 1) = [parts 1 0; [nth 2 (parts 0 0) []]].
Proof.
  exists stale_run.
  destruct (led_in_parts no_padding stale_run
    (fun s => same_records (accepted (lane (con s) 1)) [parts 1 0; [nth 2 (parts 0 0) []]]))
    as (s & R & F); [vm_compute; reflexivity|].
  exists s; split; [exact R|apply same_records_eq; exact F].
Qed.
