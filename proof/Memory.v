(* SPDX-License-Identifier: MIT *)
(*
   Memory.v - a weak memory: histories, views, and what an access may return.

   The model is the promise-free "view machine" in which the release/acquire and
   relaxed fragment of C11 (RC11) is usually given an operational form.

     - Every location has a history: every value stored there, oldest first.
       The position in the history is the message's timestamp.
     - A view is, for every location, a position in its history.
     - A thread has three views:
         cur   what it has seen: it cannot read anything older than that
         acq   what it will have seen after an acquire fence: it includes the
               views of the messages that its relaxed loads returned
         rel   what its relaxed stores pass on: what it had seen at its last
               release fence
     - A message carries a view: what its reader learns, at once by an acquire load,
       at the next acquire fence by a relaxed one.

   So a load may return any message that is not older than cur.  Nothing else orders
   two accesses to different locations: relaxed loads overtake each other, relaxed
   stores become visible in any order, an acquire load does not hold back what comes
   before it, and a release store does not hold back what comes after it.

   What is simpler here than in C11, and why no behaviour of these programs is lost:
     - A store goes to the end of its history.  In C11 it may go anywhere after the
       storing thread's view; with one storing thread per location that is the end.
     - No load buffering (no promises).  A load can see a store that is later in
       program order only round a cycle in which the loading thread also stores.
       The readers store nothing shared, and the writer loads nothing shared.
     - No release sequences: a relaxed store after a release store of the same
       thread passes on no more than rel.  C11 before C++20 promises more; leaving
       it out allows more behaviours, so what is proven holds there, too.  (The run
       in Torn.v does not depend on it: it has no relaxed store to a location that
       was release-stored before.)
     - "dmb ishst" is modelled as a release fence.  It is weaker by the order of
       earlier loads; a thread that loads nothing is not affected.
*)
Require Import Arith List Lia Bool.
Import ListNotations.

(* ---- locations ---------------------------------------------------------- *)

(* The five fields of a slot that are accessed; ctp.h, struct ctp_epoch. *)
Inductive field := Seq | Time | Tid | Addr | Act.

Definition field_eqb (a b : field) : bool :=
  match a, b with
  | Seq, Seq | Time, Time | Tid, Tid | Addr, Addr | Act, Act => true
  | _, _ => false
  end.

Lemma field_eqb_spec : forall a b, reflect (a = b) (field_eqb a b).
Proof. destruct a, b; constructor; congruence. Qed.

(* A field of a slot of the station. *)
Definition loc := (nat * field)%type.

Definition loc_eqb (a b : loc) : bool :=
  (fst a =? fst b) && field_eqb (snd a) (snd b).

Lemma loc_eqb_spec : forall a b, reflect (a = b) (loc_eqb a b).
Proof.
  intros [i f] [j g]; unfold loc_eqb; simpl.
  destruct (Nat.eqb_spec i j), (field_eqb_spec f g); constructor; congruence.
Qed.

Lemma loc_eqb_refl : forall l, loc_eqb l l = true.
Proof. intro l; destruct (loc_eqb_spec l l); congruence. Qed.

(* ---- views and histories ------------------------------------------------ *)

Definition view := loc -> nat.
Definition bottom : view := fun _ => 0.
Definition join (v w : view) : view := fun l => Nat.max (v l) (w l).
Definition at_ (l : loc) (t : nat) : view := fun l' => if loc_eqb l l' then t else 0.

Record msg := Msg { val : nat; carries : view }.
Definition memory := loc -> list msg.

(* Memory that the collector has just reserved: zeros that every thread has seen. *)
Definition memory0 : memory := fun _ => [Msg 0 bottom].

Definition append (m : memory) (l : loc) (x : msg) : memory :=
  fun l' => if loc_eqb l l' then m l' ++ [x] else m l'.

Record thread := Thread { cur : view; acq : view; rel : view }.
Definition thread0 : thread := Thread bottom bottom bottom.

(* ---- accesses ----------------------------------------------------------- *)

Inductive order := Relaxed | Ordered. (* Ordered: acquire for a load, release for a store *)

(* Load @l and get the message at @t.  None: this thread cannot read that one. *)
Definition load (o : order) (l : loc) (t : nat) (m : memory) (th : thread)
  : option (nat * thread) :=
  if cur th l <=? t then
    match nth_error (m l) t with
    | None => None
    | Some x =>
        let seen := at_ l t in
        let told := join seen (carries x) in
        Some (val x,
              match o with
              | Relaxed => Thread (join (cur th) seen) (join (acq th) told) (rel th)
              | Ordered => Thread (join (cur th) told) (join (acq th) told) (rel th)
              end)
    end
  else None.

Definition store (o : order) (l : loc) (v : nat) (m : memory) (th : thread)
  : memory * thread :=
  let here := at_ l (length (m l)) in
  let passed_on := match o with Relaxed => rel th | Ordered => cur th end in
  (append m l (Msg v (join passed_on here)),
   Thread (join (cur th) here) (join (acq th) here) (rel th)).

Definition fence_release (th : thread) : thread := Thread (cur th) (acq th) (cur th).

(* acq is never behind cur, so this is acq. *)
Definition fence_acquire (th : thread) : thread :=
  Thread (join (cur th) (acq th)) (acq th) (rel th).

(* ---- facts -------------------------------------------------------------- *)

Lemma join_l : forall v w l, v l <= join v w l.
Proof. unfold join; intros; lia. Qed.

Lemma join_r : forall v w l, w l <= join v w l.
Proof. unfold join; intros; lia. Qed.

Lemma at_here : forall l t, at_ l t l = t.
Proof. intros; unfold at_; rewrite loc_eqb_refl; reflexivity. Qed.

Lemma append_here : forall m l x, append m l x l = m l ++ [x].
Proof. intros; unfold append; rewrite loc_eqb_refl; reflexivity. Qed.

Lemma append_other : forall m l l' x, l <> l' -> append m l x l' = m l'.
Proof. intros; unfold append; destruct (loc_eqb_spec l l'); congruence. Qed.

Lemma append_length : forall m l x l',
  length (append m l x l') = length (m l') + (if loc_eqb l l' then 1 else 0).
Proof.
  intros; unfold append; destruct (loc_eqb l l'); rewrite ?app_length; simpl; lia.
Qed.

(* A message in a history after a store was there before, or is the stored one. *)
Lemma append_nth : forall m l x l' t y,
  nth_error (append m l x l') t = Some y ->
  nth_error (m l') t = Some y \/ (l = l' /\ t = length (m l) /\ y = x).
Proof.
  intros m l x l' t y H; unfold append in H.
  destruct (loc_eqb_spec l l') as [<-|]; [|auto].
  destruct (Nat.lt_ge_cases t (length (m l))) as [L|L].
  - rewrite nth_error_app1 in H by assumption; auto.
  - rewrite nth_error_app2 in H by assumption.
    destruct (t - length (m l)) as [|d] eqn:E; simpl in H.
    + inversion H; subst; right; repeat split; lia.
    + destruct d; discriminate.
Qed.

Lemma append_keeps : forall m l x l' t y,
  nth_error (m l') t = Some y -> nth_error (append m l x l') t = Some y.
Proof.
  intros m l x l' t y H; unfold append; destruct (loc_eqb l l'); [|assumption].
  rewrite nth_error_app1; [assumption|]. apply nth_error_Some; congruence.
Qed.

Lemma nth_lt : forall (h : list msg) t y, nth_error h t = Some y -> t < length h.
Proof. intros h t y H; apply nth_error_Some; congruence. Qed.
