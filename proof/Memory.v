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
       storing thread's view.  That is the end: a slot's location has one storing thread,
       and a thread that stores into a lane or a chunk has seen all earlier stores
       there (stores_are_newest of LaneTheorems.v).
     - No load buffering (no promises).  A load can see a store that is later in
       program order only round a cycle in which the loading thread also stores.
       A slot's readers store nothing shared, and its writer loads nothing shared.
       In lanes all that the collector stores after a load is a release, or is read
       only through one; what a thread stores depends on what it loaded.
     - No release sequences of stores: a relaxed store after a release store of the same
       thread passes on no more than rel.  C11 before C++20 promises more; leaving
       it out allows more behaviours, so what is proven holds there, too.  (The run
       in Torn.v does not depend on it: it has no relaxed store to a location that
       was release-stored before.)  Those of read-modify-writes are here.
     - "dmb ishst" is modelled as a release fence.  It is weaker by the order of
       earlier loads; a thread that loads nothing is not affected.
*)
Require Import Arith List Lia Bool.
Import ListNotations.

(* ---- locations ---------------------------------------------------------- *)

(* Any type with a decidable equality: Slot.v and Lane.v have one each. *)
Class Locations (loc : Type) := {
  loc_eqb : loc -> loc -> bool;
  loc_eqb_spec : forall a b, reflect (a = b) (loc_eqb a b)
}.

Section Machine.

Context {loc : Type} {locations : Locations loc}.

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

(* ---- read-modify-write ---------------------------------------------------- *)

(*
   A compare-and-swap that succeeds: it reads the newest message, because nothing can be
   between the message that it reads and the one that it stores.  Its message passes on what
   the message before it did, whatever its own order is: a release sequence.  @o is the
   order of the store; the load is relaxed.

   A compare-and-swap that fails is a relaxed load; the programs here forget what it
   returned and load again.  None: the newest message has another value.
*)
Definition newest_msg (m : memory) (l : loc) : msg := last (m l) (Msg 0 bottom).
Definition newest (m : memory) (l : loc) : nat := val (newest_msg m l).

Definition cas (o : order) (l : loc) (expected v : nat) (m : memory) (th : thread)
  : option (memory * thread) :=
  let x := newest_msg m l in
  if val x =? expected then
    let here := at_ l (length (m l)) in
    let passed_on := match o with Relaxed => rel th | Ordered => cur th end in
    Some (append m l (Msg v (join (carries x) (join passed_on here))),
          Thread (join (cur th) here) (join (acq th) (join (carries x) here)) (rel th))
  else None.

(* An addition always succeeds; both its load and its store are relaxed. *)
Definition fetch_add (l : loc) (v : nat) (m : memory) (th : thread) : memory * thread :=
  let x := newest_msg m l in
  let here := at_ l (length (m l)) in
  (append m l (Msg (val x + v) (join (carries x) (join (rel th) here))),
   Thread (join (cur th) here) (join (acq th) (join (carries x) here)) (rel th)).

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

(* ---- what a load returns ---------------------------------------------------- *)

Lemma load_spec : forall o l t m th v th',
  load o l t m th = Some (v, th') ->
  exists x, nth_error (m l) t = Some x /\ v = val x /\ cur th l <= t
    /\ (forall l', cur th l' <= cur th' l')
    /\ (forall l', acq th l' <= acq th' l')
    /\ t <= cur th' l
    /\ (forall l', carries x l' <= acq th' l')
    /\ (o = Ordered -> forall l', carries x l' <= cur th' l').
Proof.
  intros o l t m th v th' H; unfold load in H.
  destruct (Nat.leb_spec (cur th l) t); [|discriminate].
  destruct (nth_error (m l) t) as [x|]; [|discriminate].
  exists x; destruct o; inversion H; subst; cbn [cur acq]; repeat split; auto;
    try discriminate; intros; unfold join; rewrite ?at_here; lia.
Qed.

(* ---- views within the histories --------------------------------------------- *)

Definition bounded (m : memory) (v : view) : Prop := forall l, v l < length (m l).

Lemma bounded_join : forall m v w, bounded m v -> bounded m w -> bounded m (join v w).
Proof. intros m v w A B l; specialize (A l); specialize (B l); unfold join; lia. Qed.

Lemma bounded_append : forall m v l x, bounded m v -> bounded (append m l x) v.
Proof. intros m v l x A l'; specialize (A l'); rewrite append_length; lia. Qed.

Lemma bounded_at : forall m l t, (forall l', 0 < length (m l')) -> t < length (m l) ->
  bounded m (at_ l t).
Proof.
  intros m l t P H l'; unfold at_; destruct (loc_eqb_spec l l') as [<-|]; [assumption|apply P].
Qed.

Lemma bounded_positive : forall m v, bounded m v -> forall l, 0 < length (m l).
Proof. intros m v B l; specialize (B l); lia. Qed.

Lemma load_bounded : forall m th o l t v th',
  (forall l t x, nth_error (m l) t = Some x -> bounded m (carries x)) ->
  bounded m (cur th) -> bounded m (acq th) ->
  load o l t m th = Some (v, th') -> bounded m (cur th') /\ bounded m (acq th').
Proof.
  intros m th o l t v th' BM BC BA H; unfold load in H.
  destruct (cur th l <=? t); [|discriminate].
  destruct (nth_error (m l) t) as [x|] eqn:X; [|discriminate].
  pose proof (BM _ _ _ X) as BX.
  assert (AT : bounded m (at_ l t)).
  { apply bounded_at; [eapply bounded_positive; eauto|eapply nth_lt; eauto]. }
  destruct o; inversion H; subst; cbn; repeat split; repeat apply bounded_join; assumption.
Qed.

Lemma store_bounded : forall m th o l v m' th',
  (forall l t x, nth_error (m l) t = Some x -> bounded m (carries x)) ->
  bounded m (cur th) -> bounded m (rel th) ->
  store o l v m th = (m', th') ->
  (forall l t x, nth_error (m' l) t = Some x -> bounded m' (carries x))
  /\ bounded m' (cur th') /\ bounded m' (rel th')
  /\ (forall w, bounded m w -> bounded m' w).
Proof.
  intros m th o l v m' th' BM BC BR H; unfold store in H; inversion H; subst; clear H.
  assert (AT : forall x, bounded (append m l x) (at_ l (length (m l)))).
  { intro x; apply bounded_at.
    - intro l'; rewrite append_length; pose proof (bounded_positive _ _ BC l'); lia.
    - rewrite append_length, loc_eqb_refl; lia. }
  repeat split; cbn.
  - intros l' t x X; apply append_nth in X; destruct X as [X|(_ & _ & ->)].
    + apply bounded_append; eauto.
    + apply bounded_join; [|apply AT]. destruct o; apply bounded_append; assumption.
  - apply bounded_join; [apply bounded_append; assumption|apply AT].
  - apply bounded_append; assumption.
  - intros w B; apply bounded_append; assumption.
Qed.

(* ---- all stores to a location ------------------------------------------------- *)

(* A thread with this view has seen all stores to x. *)
Definition covers (m : memory) (v : view) (x : loc) : Prop := length (m x) <= S (v x).

(* The message at t has the value t. *)
Definition counts (m : memory) (x : loc) : Prop :=
  forall t y, nth_error (m x) t = Some y -> val y = t.

Lemma newest_append : forall (m : memory) x y, newest (append m x y) x = val y.
Proof. intros; unfold newest, newest_msg; rewrite append_here, last_last; reflexivity. Qed.

Lemma newest_msg_append : forall (m : memory) x y, newest_msg (append m x y) x = y.
Proof. intros; unfold newest_msg; rewrite append_here, last_last; reflexivity. Qed.

Lemma newest_same : forall (m m' : memory) x, m' x = m x -> newest m' x = newest m x.
Proof. intros m m' x E; unfold newest, newest_msg; rewrite E; reflexivity. Qed.

Lemma newest_other : forall (m : memory) x z y, x <> z -> newest (append m x y) z = newest m z.
Proof. intros; apply newest_same, append_other; assumption. Qed.

Lemma covers_same : forall (m m' : memory) v x, m' x = m x -> covers m v x -> covers m' v x.
Proof. unfold covers; intros m m' v x E H; rewrite E; assumption. Qed.

Lemma covers_mono : forall (m : memory) v v' x, v x <= v' x -> covers m v x -> covers m v' x.
Proof. unfold covers; intros; lia. Qed.

Lemma covers_new : forall (m : memory) v x y, length (m x) <= v x -> covers (append m x y) v x.
Proof.
  unfold covers; intros m v x y H; rewrite append_length, loc_eqb_refl; lia.
Qed.

Lemma counts_append : forall (m : memory) x y,
  counts m x -> val y = length (m x) -> counts (append m x y) x.
Proof.
  intros m x y C V t z H; apply append_nth in H; destruct H as [H|(_ & -> & ->)]; auto.
Qed.

Lemma counts_same : forall (m m' : memory) x, m' x = m x -> counts m x -> counts m' x.
Proof. unfold counts; intros m m' x E C t y; rewrite E; apply C. Qed.

Lemma nth_newest : forall (m : memory) x, 0 < length (m x) ->
  nth_error (m x) (length (m x) - 1) = Some (newest_msg m x).
Proof.
  intros m x H; unfold newest_msg; destruct (m x) as [|a h]; [simpl in H; lia|].
  destruct (@exists_last _ (a :: h)) as (h' & b & E); [discriminate|]; rewrite E.
  rewrite app_length, last_last; simpl. rewrite nth_error_app2 by lia.
  replace (length h' + 1 - 1 - length h') with 0 by lia; reflexivity.
Qed.

Lemma counts_newest : forall (m : memory) x, counts m x -> 0 < length (m x) ->
  S (newest m x) = length (m x).
Proof.
  intros m x C H; pose proof (C _ _ (nth_newest m x H)) as E; unfold newest; lia.
Qed.

(* A view that covers a location reads the newest message. *)
Lemma covers_load : forall o x t (m : memory) th v th',
  load o x t m th = Some (v, th') -> covers m (cur th) x ->
  S t = length (m x) /\ v = newest m x.
Proof.
  intros o x t m th v th' H C; destruct (load_spec _ _ _ _ _ _ _ H) as (y & N & -> & L & _).
  pose proof (nth_lt _ _ _ N) as B. unfold covers in C.
  assert (E : t = length (m x) - 1) by lia. split; [lia|].
  rewrite E, nth_newest in N by lia. injection N as <-; reflexivity.
Qed.

End Machine.

Arguments view : clear implicits.
Arguments memory : clear implicits.
Arguments thread : clear implicits.
Arguments msg : clear implicits.
