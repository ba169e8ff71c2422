(* SPDX-License-Identifier: MIT *)
(*
   LanePool.v - the pool's stack, and threads that take from it.

   All changes of the top are compare-and-swaps, so its messages pass on what those
   before them did.  The tag is the timestamp: a compare-and-swap that finds the value
   which was loaded finds the message that was loaded, and the stack is what it was then.
*)
Require Import Arith List Lia Bool Cantor.
Require Import Memory Lane LaneInv.
Import ListNotations.

Lemma tag_top : forall t n, tag_of (top_of t n) = t.
Proof. intros; unfold tag_of, top_of; rewrite cancel_of_to; reflexivity. Qed.

Lemma number_top : forall t n, number_of (top_of t n) = n.
Proof. intros; unfold number_of, top_of; rewrite cancel_of_to; reflexivity. Qed.

(* @n leads to the first of @stack, whose link leads to the next, and so on. *)
Fixpoint stack_ok (m : memory) (n : nat) (stack : list nat) : Prop :=
  match stack with
  | [] => n = 0
  | c :: rest => n = S c /\ stack_ok m (newest m (Link c)) rest
  end.

Lemma stack_ok_same : forall (m m' : memory) stack n,
  (forall c, In c stack -> m' (Link c) = m (Link c)) -> stack_ok m n stack -> stack_ok m' n stack.
Proof.
  induction stack as [|c stack IH]; simpl; intros n E S; [assumption|].
  destruct S as [S1 S2]; split; [assumption|].
  rewrite (newest_same m m' (Link c)) by (apply E; left; reflexivity).
  apply IH; auto.
Qed.

Definition covers_chunk (m : memory) (v : view) (c : nat) : Prop :=
  forall x, chunk_of x = Some c -> covers m v x.

Lemma covers_chunk_mono : forall m v v' c, (forall x, v x <= v' x) ->
  covers_chunk m v c -> covers_chunk m v' c.
Proof. intros m v v' c V C x X; eapply covers_mono; [apply V|]; auto. Qed.

Record pool_ok (m : memory) (own : nat -> owner) (stack : list nat) : Prop := {
  pl_some : forall x, 0 < length (m x);
  pl_tags : forall t x, nth_error (m Top) t = Some x -> tag_of (val x) = t;
  pl_stack : stack_ok m (number_of (newest m Top)) stack;
  pl_nodup : NoDup stack;
  pl_in : forall c, In c stack <-> own c = Stacked;
  pl_sees : forall c, own c = Stacked -> covers_chunk m (carries (newest_msg m Top)) c;
  pl_used : counts m Used;
  pl_fresh : forall c, own c = Fresh <-> length (m Used) <= S c;
  pl_clean : forall c x, own c = Fresh -> chunk_of x = Some c -> length (m x) <= 1
}.

Lemma covers_chunk_same : forall (m m' : memory) v c,
  (forall x, chunk_of x = Some c -> m' x = m x) -> covers_chunk m v c -> covers_chunk m' v c.
Proof. intros m m' v c E C x X; eapply covers_same; [apply E; assumption|]; auto. Qed.

Lemma newest_tag : forall m own stack, pool_ok m own stack ->
  S (tag_of (newest m Top)) = length (m Top).
Proof.
  intros m own stack P; pose proof (pl_some _ _ _ P Top) as L.
  pose proof (pl_tags _ _ _ P _ _ (nth_newest m Top L)); unfold newest; lia.
Qed.

(* A step that does not change the pool. *)
Lemma pool_apart : forall m m' own own' stack, pool_ok m own stack ->
  m' Top = m Top -> m' Used = m Used -> (forall x, length (m x) <= length (m' x)) ->
  (forall c x, own c = Stacked \/ own c = Fresh -> chunk_of x = Some c -> m' x = m x) ->
  (forall c, own' c = Stacked <-> own c = Stacked) ->
  (forall c, own' c = Fresh <-> own c = Fresh) -> pool_ok m' own' stack.
Proof.
  intros m m' own own' stack [] MT MU ML MC OS OF; constructor; auto.
  - intro x; specialize (ML x); specialize (pl_some0 x); lia.
  - rewrite MT; assumption.
  - rewrite (newest_same m m' Top MT); eapply stack_ok_same; [|eassumption].
    intros c I; apply (MC c); [left; apply pl_in0; assumption|reflexivity].
  - intro c; rewrite OS; auto.
  - intros c O; apply OS in O; unfold newest_msg; rewrite MT.
    eapply covers_chunk_same; [|apply pl_sees0; assumption]. intros; apply (MC c); auto.
  - eapply counts_same; eauto.
  - intro c; rewrite OF, MU; auto.
  - intros c x O X; apply OF in O; rewrite (MC c) by auto; eauto.
Qed.

Lemma pool_pop : forall m own stack l y c n, pool_ok m own stack ->
  number_of (newest m Top) = S c -> n = newest m (Link c) ->
  val y = top_of (S (tag_of (newest m Top))) n ->
  (forall x, carries (newest_msg m Top) x <= carries y x) ->
  own c = Stacked
  /\ pool_ok (append m Top y) (set_owner own c (Popped l)) (tl stack).
Proof.
  intros m own stack l y c n P N L V C; pose proof (newest_tag _ _ _ P) as NT; destruct P.
  destruct stack as [|c' stack]; cbn in pl_stack0; [congruence|].
  destruct pl_stack0 as [E ST]; assert (c' = c) by congruence; subst c'.
  assert (OC : own c = Stacked) by (apply pl_in0; left; reflexivity).
  apply NoDup_cons_iff in pl_nodup0; destruct pl_nodup0 as [ND1 ND2].
  split; [assumption|]; constructor; cbn [tl]; auto.
  - intro x; rewrite append_length; specialize (pl_some0 x); lia.
  - intros t x H; apply append_nth in H; destruct H as [H|(_ & -> & ->)]; [auto|].
    rewrite V, tag_top; assumption.
  - rewrite newest_append, V, number_top, L.
    eapply stack_ok_same; [|eassumption]. intros; apply append_other; discriminate.
  - intro c0; unfold set_owner; destruct (Nat.eqb_spec c c0) as [<-|X].
    + split; [contradiction|discriminate].
    + rewrite <- pl_in0; cbn; intuition congruence.
  - intros c0 O; unfold set_owner in O; destruct (Nat.eqb_spec c c0) as [->|X]; [discriminate|].
    rewrite newest_msg_append; eapply covers_chunk_mono; [exact C|].
    eapply covers_chunk_same; [|apply pl_sees0; assumption].
    intros x X0; apply append_other; intros <-; discriminate.
  - intro c0; rewrite append_other by discriminate; unfold set_owner.
    destruct (Nat.eqb_spec c c0) as [<-|X]; [|auto].
    rewrite <- pl_fresh0; split; congruence.
  - intros c0 x O X; unfold set_owner in O; destruct (Nat.eqb_spec c c0); [discriminate|].
    rewrite append_other by (intros <-; discriminate); eauto.
Qed.

Lemma pool_extend : forall m own stack l y c, pool_ok m own stack ->
  newest m Used = c -> val y = S c ->
  own c = Fresh /\ pool_ok (append m Used y) (set_owner own c (Popped l)) stack.
Proof.
  intros m own stack l y c P N V; destruct P.
  pose proof (counts_newest _ _ pl_used0 (pl_some0 Used)) as CN; rewrite N in CN.
  assert (OC : own c = Fresh) by (apply pl_fresh0; lia).
  split; [assumption|]; constructor; auto.
  - intro x; rewrite append_length; specialize (pl_some0 x); lia.
  - rewrite newest_other by discriminate.
    eapply stack_ok_same; [|eassumption]. intros; apply append_other; discriminate.
  - intro c0; unfold set_owner; destruct (Nat.eqb_spec c c0) as [<-|X]; [|auto].
    rewrite pl_in0; split; congruence.
  - intros c0 O; unfold set_owner in O; destruct (Nat.eqb_spec c c0) as [->|X]; [discriminate|].
    unfold newest_msg; rewrite append_other by discriminate.
    eapply covers_chunk_same; [|apply pl_sees0; assumption].
    intros x X0; apply append_other; intros <-; discriminate.
  - apply counts_append; [assumption|lia].
  - intro c0; rewrite append_here, app_length; cbn; unfold set_owner.
    destruct (Nat.eqb_spec c c0) as [<-|X]; [split; [discriminate|lia]|].
    rewrite pl_fresh0; lia.
  - intros c0 x O X; unfold set_owner in O; destruct (Nat.eqb_spec c c0); [discriminate|].
    rewrite append_other by (intros <-; discriminate); eauto.
Qed.

Lemma pool_give : forall m own stack y c, pool_ok m own stack -> own c = Giving ->
  newest m (Link c) = number_of (newest m Top) ->
  val y = top_of (S (tag_of (newest m Top))) (S c) ->
  (forall x, carries (newest_msg m Top) x <= carries y x) ->
  covers_chunk m (carries y) c ->
  pool_ok (append m Top y) (set_owner own c Stacked) (c :: stack).
Proof.
  intros m own stack y c P O L V C CC; pose proof (newest_tag _ _ _ P) as NT; destruct P.
  constructor; auto.
  - intro x; rewrite append_length; specialize (pl_some0 x); lia.
  - intros t x H; apply append_nth in H; destruct H as [H|(_ & -> & ->)]; [auto|].
    rewrite V, tag_top; assumption.
  - rewrite newest_append, V, number_top; cbn; split; [reflexivity|].
    rewrite newest_other, L by discriminate.
    eapply stack_ok_same; [|eassumption]. intros; apply append_other; discriminate.
  - constructor; [|assumption]. rewrite pl_in0; congruence.
  - intro c0; unfold set_owner; destruct (Nat.eqb_spec c c0) as [->|X]; cbn.
    + split; auto.
    + rewrite <- pl_in0; intuition congruence.
  - intros c0 OS; rewrite newest_msg_append.
    eapply covers_chunk_same; [intros x X0; apply append_other; intros <-; discriminate|].
    unfold set_owner in OS; destruct (Nat.eqb_spec c c0) as [->|X]; [assumption|].
    eapply covers_chunk_mono; [exact C|]; auto.
  - intro c0; rewrite append_other by discriminate; unfold set_owner.
    destruct (Nat.eqb_spec c c0) as [<-|X]; [|auto].
    rewrite <- pl_fresh0; split; congruence.
  - intros c0 x OF X; unfold set_owner in OF; destruct (Nat.eqb_spec c c0); [discriminate|].
    rewrite append_other by (intros <-; discriminate); eauto.
Qed.

(* ---- a thread in the middle of ctp_pool_pop() ------------------------------------------ *)

(* While the top is what it has loaded, it has seen all that is on the stack. *)
Definition loaded (m : memory) (own : nat -> owner) (v : view) (top : nat) : Prop :=
  number_of top <> 0 /\ tag_of top < length (m Top)
  /\ (newest m Top = top -> forall c, own c = Stacked -> covers_chunk m v c).

Definition pop_ok (m : memory) (own : nat -> owner) (p : producer) : Prop :=
  match pc p with
  | PPopLink top => loaded m own (cur (pth p)) top
  | PPopCas top link =>
      loaded m own (cur (pth p)) top
      /\ (newest m Top = top -> link = newest m (Link (number_of top - 1)))
  | _ => True
  end.

Lemma top_is_stacked : forall m own stack, pool_ok m own stack ->
  number_of (newest m Top) <> 0 -> own (number_of (newest m Top) - 1) = Stacked.
Proof.
  intros m own stack P N; pose proof (pl_stack _ _ _ P) as S.
  destruct stack as [|c stack]; cbn in S; [congruence|destruct S as [S _]].
  rewrite S; cbn; rewrite Nat.sub_0_r; apply (pl_in _ _ _ P); left; reflexivity.
Qed.

Lemma pop_apart : forall m m' own own' stack p, pop_ok m own p -> pool_ok m own stack ->
  m' Top = m Top ->
  (forall c x, own c = Stacked -> chunk_of x = Some c -> m' x = m x) ->
  (forall c, own' c = Stacked -> own c = Stacked) -> pop_ok m' own' p.
Proof.
  intros m m' own own' stack p P PL MT MC OS.
  assert (LO : forall top, loaded m own (cur (pth p)) top -> loaded m' own' (cur (pth p)) top).
  { intros top (L1 & L2 & L3); repeat split; auto; [rewrite MT; assumption|].
    rewrite (newest_same m m' Top MT); intros E c O.
    eapply covers_chunk_same; [|apply L3; auto]. intros; apply (MC c); auto. }
  unfold pop_ok in *; destruct (pc p); auto.
  destruct P as [P1 P2]; split; auto.
  rewrite (newest_same m m' Top MT); intro E; rewrite (P2 E).
  symmetry; apply newest_same. rewrite <- E in *.
  eapply MC; [eapply top_is_stacked; eauto; apply P1|reflexivity].
Qed.

(* The top has changed: what was loaded will not be found again. *)
Lemma pop_late : forall m own own' p y, pop_ok m own p -> tag_of (val y) = length (m Top) ->
  pop_ok (append m Top y) own' p.
Proof.
  intros m own own' p y P T.
  assert (LO : forall top, loaded m own (cur (pth p)) top ->
     newest (append m Top y) Top <> top /\ loaded (append m Top y) own' (cur (pth p)) top).
  { intros top (L1 & L2 & L3).
    assert (newest (append m Top y) Top <> top) by (rewrite newest_append; intros <-; lia).
    repeat split; auto; [rewrite append_here, app_length; lia|contradiction]. }
  unfold pop_ok in *; destruct (pc p); auto; [apply LO; assumption|].
  destruct P as [P1 P2]; destruct (LO _ P1); split; [assumption|contradiction].
Qed.
