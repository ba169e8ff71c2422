(* SPDX-License-Identifier: MIT *)
(* LaneSum.v - events of threads that have no lane: each is counted once, by an addition. *)
Require Import Arith List Lia Bool Cantor.
Require Import Memory Lane LaneInv LaneThread LaneSteps.
Import ListNotations.

(* Of the threads before n. *)
Fixpoint total (f : nat -> nat) (n : nat) : nat :=
  match n with 0 => 0 | S n => f n + total f n end.

Lemma total_same : forall f g n, (forall l, l < n -> f l = g l) -> total f n = total g n.
Proof. induction n; cbn; intros H; [reflexivity|]. rewrite H, IHn by auto; reflexivity. Qed.

Lemma total_zeros : forall f n k, (forall l, n <= l -> f l = 0) -> total f (k + n) = total f n.
Proof. induction k; cbn; intros H; [reflexivity|]. rewrite H, IHk by (auto || lia); reflexivity. Qed.

Lemma total_one : forall f g l n, l < n -> g l = S (f l) -> (forall l', l' <> l -> g l' = f l') ->
  total g n = S (total f n).
Proof.
  induction n as [|n IH]; cbn; intros L E O; [lia|].
  destruct (Nat.eq_dec n l) as [->|N].
  - rewrite E, (total_same g f l) by (intros; apply O; lia); lia.
  - rewrite (O n N), IH by (auto; lia); lia.
Qed.

Section Sum.

Variable room limit : nat.
Variable event : nat -> nat -> item.
Hypothesis some_room : 0 < room.

Definition sum_ok (s : state) : Prop :=
  counts (mem s) Homeless
  /\ exists n, (forall l, n <= l -> homeless (prod s l) = 0)
       /\ length (mem s Homeless) = S (total (fun l => homeless (prod s l)) n).

Lemma pstep_sum : forall o l t m p m' p', pstep room limit event o l t m p = Some (m', p') ->
  (m' Homeless = m Homeless /\ homeless p' = homeless p)
  \/ (homeless p' = S (homeless p)
      /\ exists y, m' = append m Homeless y /\ val y = newest m Homeless + 1).
Proof.
  intros o l t m p m' p' H; unfold pstep in H.
  destruct (pc p);
    try (left; injection H as <- <-; split; reflexivity);
    try (left; destruct (load _ _ _ _ _) as [[v th]|]; [|discriminate]; injection H as <- <-;
         split; reflexivity);
    try (left; destruct (cas _ _ _ _ _ _) as [[m1 th]|] eqn:C; injection H as <- <-;
         [destruct (cas_spec _ some_room _ _ _ _ _ _ _ _ C) as (y & -> & _)|]; split; try reflexivity;
         apply append_other; discriminate);
    try (left; destruct (store _ _ _ _ _) as [m1 th] eqn:S; injection H as <- <-;
         destruct (store_spec _ _ _ _ _ _ _ S) as (y & -> & _); split; [|reflexivity];
         apply append_other; discriminate);
    try discriminate.
  destruct (chain p).
  - right; unfold fetch_add in H; injection H as <- <-; split; [reflexivity|].
    eexists; split; reflexivity.
  - left; destruct (store _ _ _ _ _) as [m1 th] eqn:S; injection H as <- <-.
    destruct (store_spec _ _ _ _ _ _ _ S) as (y & -> & _); split; [|reflexivity].
    apply append_other; discriminate.
Qed.

Lemma cstep_sum : forall o a t m k m' k', cstep room o a t m k = Some (m', k') ->
  m' Homeless = m Homeless.
Proof.
  intros o a t m k m' k' H; unfold cstep in H; destruct (doing k), a; try discriminate;
    try (destruct (store _ _ _ _ _) as [m1 th] eqn:S; injection H as <- _;
         destruct (store_spec _ _ _ _ _ _ _ S) as (y & -> & _); apply append_other; discriminate);
    try (destruct (cas _ _ _ _ _ _) as [[m1 th]|] eqn:C; injection H as <- _; [|reflexivity];
         destruct (cas_spec _ some_room _ _ _ _ _ _ _ _ C) as (y & -> & _);
         apply append_other; discriminate);
    try (destruct (_ && _); [|discriminate]; injection H as <- _; reflexivity);
    try (destruct (may_return _); [|discriminate]; injection H as <- _; reflexivity);
    try (destruct (may_turn _ _); [|discriminate]);
    (destruct (load _ _ _ _ _) as [[v th]|]; [|discriminate]; injection H as <- _; reflexivity).
Qed.

Lemma step_sum : forall o s c s', sum_ok s -> step room limit event o s c = Some s' -> sum_ok s'.
Proof.
  intros o s c s' [C (n & Z & L)] H; unfold step in H.
  assert (SAME : forall m' prod' k, m' Homeless = mem s Homeless ->
    (forall l, homeless (prod' l) = homeless (prod s l)) -> sum_ok (St m' prod' k)).
  { intros m' prod' k M P; split; [eapply counts_same; eauto|]. exists n; cbn; rewrite M.
    split; [intros l X; rewrite P; auto|]. rewrite L; f_equal; apply total_same; auto. }
  destruct c as [l t|l|l|l other|l|l|a t];
    try (destruct (dead (prod s l)); [discriminate|]; unfold after, still, pclose, pgive_up, pmove in H).
  - destruct (pstep _ _ _ _ _ _ _ _) as [[m p]|] eqn:ST; [|discriminate]. injection H as <-.
    destruct (pstep_sum _ _ _ _ _ _ _ ST) as [[M P]|(P & y & -> & V)].
    + apply SAME; [assumption|]. intro l'; destruct (Nat.eqb_spec l l') as [<-|]; auto.
    + assert (PO : 0 < length (mem s Homeless)) by lia.
      pose proof (counts_newest _ _ C PO) as CN. split; cbn [mem prod].
      * apply counts_append; [assumption|lia].
      * exists (S l + n); split.
        -- intros l' X; destruct (Nat.eqb_spec l l'); [lia|]. apply Z; lia.
        -- rewrite append_here, app_length, L; cbn [length]. rewrite Nat.add_1_r; f_equal.
           rewrite <- (total_zeros _ _ (S l) Z); symmetry; apply (total_one _ _ l); [lia| |].
           ++ cbn; rewrite Nat.eqb_refl; assumption.
           ++ intros l' N; cbn; destruct (Nat.eqb_spec l l'); [congruence|reflexivity].
  - destruct (pc (prod s l)); try discriminate. destruct (chain (prod s l)); [discriminate|].
    destruct (store _ _ _ _ _) as [m1 th1] eqn:ST; injection H as <-.
    destruct (store_spec _ _ _ _ _ _ _ ST) as (y & -> & _).
    apply SAME; [apply append_other; discriminate|].
    intro l'; destruct (Nat.eqb_spec l l') as [<-|]; reflexivity.
  - destruct (pc (prod s l)); try discriminate; injection H as <-; apply SAME; try reflexivity;
      intro l'; destruct (Nat.eqb_spec l l') as [<-|]; reflexivity.
  - destruct (pc (prod s l)); try discriminate; injection H as <-; apply SAME; try reflexivity;
      intro l'; destruct (Nat.eqb_spec l l') as [<-|]; reflexivity.
  - injection H as <-; apply SAME; try reflexivity.
    intro l'; destruct (Nat.eqb_spec l l') as [<-|]; reflexivity.
  - destruct (dead (prod s l)); [|discriminate]. destruct (mourn _ _ _); [|discriminate].
    injection H as <-; apply SAME; reflexivity.
  - destruct (cstep _ _ _ _ _ _) as [[m k]|] eqn:ST; [|discriminate]. injection H as <-.
    apply SAME; [eapply cstep_sum; eauto|reflexivity].
Qed.

(* The counter of the region is the sum over all threads: no addition is lost. *)
Theorem homeless_total : forall s, reachable room limit event s ->
  exists n, (forall l, n <= l -> homeless (prod s l) = 0)
    /\ newest (mem s) Homeless = total (fun l => homeless (prod s l)) n.
Proof.
  intros s (cs & R).
  assert (X : forall cs s0, sum_ok s0 -> run room limit event ours s0 cs = Some s -> sum_ok s).
  { induction cs0 as [|c cs0 IH]; cbn; intros s0 V H; [congruence|].
    destruct (step room limit event ours s0 c) as [s1|] eqn:S; [|discriminate].
    eapply IH; [|exact H]. eapply step_sum; eauto. }
  destruct (X cs state0) as [C (n & Z & L)]; auto.
  - split; [|exists 0; split; auto].
    intros [|[|t]] y N; cbn in N; try discriminate; injection N as <-; reflexivity.
  - exists n; split; [assumption|]. assert (PO : 0 < length (mem s Homeless)) by lia.
    pose proof (counts_newest _ _ C PO); lia.
Qed.

End Sum.
