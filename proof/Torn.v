(* SPDX-License-Identifier: MIT *)
(*
   Torn.v - necessity: what the model allows when a fence is missing.

   The existing SDKs mark the slot with a release store and the reader looks twice
   with acquire loads.  Below is a run of exactly that on the machine of Memory.v
   that hands on a record which was never written: the time of one event and the rest
   of another.  Two more runs show that either fence alone is not enough.

   The run, in words.  The writer completes events 0 to 7 and begins event 8, in slot
   0 again: it marks the slot and stores the time.  A reader whose view does not contain
   these stores finds event 0 in slot 0, copies the new time and the old rest, looks again
   and still finds the mark of event 0.  The model allows that: a release store carries
   what came before it, so the message with the new time carries nothing about the mark.
*)
Require Import Arith List Lia Bool.
Require Import Memory Slot.
Import ListNotations.

(* Every field but one differs between events; that one has two values. *)
Definition example (k : nat) (f : field) : nat :=
  match f with
  | Seq => 0
  | Time => 100 + k
  | Tid => 200 + k
  | Addr => 300 + k
  | Act => k mod 2
  end.

(* A copy that equals no event. *)
Definition torn (c : field -> nat) : Prop := forall k, exists f, c f <> example k f.

Definition writes (n : nat) : list choice := List.repeat CWrite n.
Definition read (t : nat) : choice := CRead 0 t true false.

Definition outcome (dw dr : discipline) (cs : list choice) : option (list nat) :=
  match run example dw dr state0 cs with
  | Some s =>
      match taken (rd s 0) with
      | [a] => Some (a_event a :: a_slot a :: a_seq a :: map (a_data a) payload_fields)
      | _ => None
      end
  | None => None
  end.

(* Six instructions per event in the Naive order, seven in Ours. *)
Definition naive_run : list choice :=
  writes (8 * 6) ++ writes 4 ++
  [ read 2;               (* s1: the mark of event 0 *)
    read 2;               (* the time of event 8 *)
    read 1; read 1; read 1;
    read 0;               (* no fence *)
    read 2 ].             (* s2: still the mark of event 0 *)

Definition reader_fence_only := naive_run.

Definition writer_fence_only : list choice :=
  writes (8 * 7) ++ writes 3 ++
  [ read 2; read 2; read 1; read 1; read 1; read 0; read 2 ].

Lemma naive_outcome :
  outcome Naive Naive naive_run = Some [0; 0; 2; 108; 200; 300; 0].
Proof. vm_compute; reflexivity. Qed.

Lemma reader_fence_only_outcome :
  outcome Naive Ours reader_fence_only = Some [0; 0; 2; 108; 200; 300; 0].
Proof. vm_compute; reflexivity. Qed.

Lemma writer_fence_only_outcome :
  outcome Ours Naive writer_fence_only = Some [0; 0; 2; 108; 200; 300; 0].
Proof. vm_compute; reflexivity. Qed.

Lemma mixture_is_torn : forall c,
  c Time = 108 -> c Tid = 200 -> torn c.
Proof.
  intros c HT HI k.
  destruct (Nat.eq_dec k 8) as [->|NE].
  - exists Tid; rewrite HI; vm_compute; discriminate.
  - exists Time; rewrite HT; simpl; lia.
Qed.

Lemma outcome_torn : forall dw dr cs,
  outcome dw dr cs = Some [0; 0; 2; 108; 200; 300; 0] ->
  exists s a, run example dw dr state0 cs = Some s
              /\ In a (taken (rd s 0)) /\ torn (a_data a).
Proof.
  intros dw dr cs H; unfold outcome in H.
  destruct (run example dw dr state0 cs) as [s|]; [|discriminate].
  destruct (taken (rd s 0)) as [|a [|b l]] eqn:E; try discriminate.
  exists s, a; split; [reflexivity|]; split; [rewrite E; left; reflexivity|].
  cbn in H; injection H; intros; apply mixture_is_torn; assumption.
Qed.

(* The existing SDKs' order accepts a record that was never written. *)
Theorem necessity : exists cs s a,
  run example Naive Naive state0 cs = Some s
  /\ In a (taken (rd s 0)) /\ torn (a_data a).
Proof. exists naive_run; apply outcome_torn, naive_outcome. Qed.

(* Fixing the reader alone does not help ... *)
Theorem necessity_of_the_writers_fence : exists cs s a,
  run example Naive Ours state0 cs = Some s
  /\ In a (taken (rd s 0)) /\ torn (a_data a).
Proof. exists reader_fence_only; apply outcome_torn, reader_fence_only_outcome. Qed.

(* ... nor does fixing the writer alone. *)
Theorem necessity_of_the_readers_fence : exists cs s a,
  run example Ours Naive state0 cs = Some s
  /\ In a (taken (rd s 0)) /\ torn (a_data a).
Proof. exists writer_fence_only; apply outcome_torn, writer_fence_only_outcome. Qed.
