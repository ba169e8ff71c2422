(* SPDX-License-Identifier: MIT *)
(* LaneCursor.v - each step of the collector keeps the invariant of the lane that it is about. *)
Require Import Arith List Lia Bool Cantor.
Require Import Memory Lane LaneInv LanePool.
Import ListNotations.

Section Steps.

Variable room limit : nat.
Variable event : nat -> nat -> item.
Hypothesis some_room : 0 < room.

Notation lane_ok := (LaneInv.lane_ok room event).
Notation cover_upto := (LaneInv.cover_upto room).

Ltac fields := cbn [adopted head orphan heard given lost taken accepted adopt set_head set_lost accept
  skip give_one hear].

Lemma lane_seen_more : forall m own l p u v v', lane_ok m own l p u v ->
  (forall x, v x <= v' x) -> lane_ok m own l p u v'.
Proof.
  intros m own l p u v v' K V; eapply lane_ok_apart; eauto.
  repeat split; auto.
Qed.

(* The next chunk of the chain. *)
Lemma cursor_adopt : forall m own l p u v c, lane_ok m own l p u v ->
  nth_error (chain p) (length (adopted u)) = Some c ->
  taken u = room * length (adopted u) ->
  given u < length (adopted u) /\ (taken u < head u \/ orphan u = true)
    \/ adopted u = [] ->
  lane_ok m own l p (adopt u c) v.
Proof.
  intros m own l p u v c K N A G; destruct K; constructor; fields; auto.
  - destruct lk_adopted as (rest & E); rewrite E, nth_error_app2, Nat.sub_diag in N by lia.
    destruct rest as [|c' rest]; [discriminate|]. injection N as ->.
    exists rest; rewrite E, <- app_assoc; reflexivity.
  - rewrite app_length; cbn; rewrite Nat.mul_add_distr_l.
    replace (length (adopted u) + 1 - 1) with (length (adopted u)) by lia; lia.
  - rewrite app_length; cbn; intro L; destruct G as [[_ [Z|Z]]|Z]; auto.
    + left; replace (length (adopted u) + 1 - 1) with (length (adopted u)) by lia; lia.
    + rewrite Z in L; cbn in L; lia.
  - left; rewrite app_length; cbn [length]; clear - G lk_given.
    destruct lk_given as [X|[[X Y]|(X & _)]]; destruct G as [[Z _]|Z]; rewrite ?Z in *; cbn in *; lia.
Qed.

Lemma cursor_head : forall m own l p u v h t, lane_ok m own l p u v ->
  taken u <= h <= length (log p) -> head u <= h -> t <= v (Head l) -> t <= length (items p) ->
  h = length (concat (firstn t (items p))) -> (orphan u = true -> h = length (log p)) ->
  cover_upto m (chain p) (given u) v h -> lane_ok m own l p (set_head u h) v.
Proof.
  intros m own l p u v h t K B HH TV TI HT O C; destruct K; constructor; fields; auto; try lia.
  - intro L; destruct (lk_turned L); [left; lia|auto].
  - destruct lk_given as [X|[X|(X & Y & Z)]]; auto.
    right; right; repeat split; auto; rewrite (O Y), Z; apply lk_orphan; assumption.
  - eauto.
  - intro X; destruct (lk_orphan X) as (A1 & A2 & A3 & A4); auto.
Qed.

Lemma cursor_lost : forall m own l p u v nr e, lane_ok m own l p u v ->
  (orphan u || e = true -> ended p /\ settled m l (chain p) (given u) v
     /\ head u = length (log p) /\ nr = dropped p) ->
  lane_ok m own l p (set_lost u nr e) v.
Proof.
  intros m own l p u v nr e K O; destruct K; constructor; fields; auto.
  - intro L; destruct (lk_turned L) as [X|X]; [|rewrite X]; auto.
  - destruct lk_given as [X|[X|(X & Y & Z)]]; auto; rewrite Y; cbn; auto.
Qed.

(* Records are passed: those of one event, which is kept, or padding, which is not. *)
Lemma cursor_accept : forall m own l p u v done it rest u', lane_ok m own l p u v ->
  items p = done ++ it :: rest -> taken u = length (concat done) -> accepted u = kept done ->
  taken u + length it <= head u -> taken u + length it <= room * length (adopted u) ->
  0 < length it -> u' = (if padding it then skip u (length it) else accept u it) ->
  lane_ok m own l p u' v.
Proof.
  intros m own l p u v done it rest u' K I T A H R Z U.
  assert (E : adopted u' = adopted u /\ head u' = head u /\ orphan u' = orphan u
    /\ heard u' = heard u /\ given u' = given u /\ lost u' = lost u /\ taken u' = taken u + length it
    /\ accepted u' = kept (done ++ [it])).
  { rewrite kept_app, <- A; cbn; rewrite U; destruct (padding it); cbn; rewrite ?app_nil_r; repeat split. }
  destruct E as (E1 & E2 & E3 & E4 & E5 & E6 & E7 & E8).
  destruct K; constructor; rewrite ?E1, ?E2, ?E3, ?E4, ?E5, ?E6; auto; try lia.
  - exists (done ++ [it]), rest; rewrite <- app_assoc; split; [assumption|]; split; [|assumption].
    rewrite concat_app, app_length; cbn; rewrite app_nil_r; lia.
Qed.

Lemma cursor_hear : forall m own l p u v, lane_ok m own l p u v ->
  dead p = true -> settled m l (chain p) (given u) v -> lane_ok m own l p (hear u) v.
Proof. intros m own l p u v K D S; destruct K; constructor; fields; auto. Qed.

Lemma cursor_give : forall m own l p u v c, lane_ok m own l p u v ->
  (forall c i w, room <= i -> length (m (Word c i w)) <= 1) ->
  may_return u = true -> c = nth (given u) (adopted u) 0 ->
  own c = Linked l (given u) /\ covers_chunk m v c
  /\ lane_ok m (set_owner own c Giving) l p (give_one u) v.
Proof.
  intros m own l p u v c K BY R C.
  destruct (lk_adopted _ _ _ _ _ _ _ _ K) as (rest & E).
  assert (G : given u < length (adopted u)
    /\ (S (given u) < length (adopted u) \/ orphan u = true /\ taken u = head u)).
  { unfold may_return in R; apply orb_true_iff in R; destruct R as [R|R].
    - apply Nat.ltb_lt in R; lia.
    - apply andb_true_iff in R; destruct R as [R R3]; apply andb_true_iff in R.
      destruct R as [R1 R2]; apply Nat.eqb_eq in R2; apply Nat.ltb_lt in R3; auto. }
  destruct G as [G R'].
  assert (N : nth_error (chain p) (given u) = Some c).
  { rewrite E, nth_error_app1 by assumption; rewrite C; apply nth_error_nth'; assumption. }
  assert (O : own c = Linked l (given u)) by (apply (lk_linked _ _ _ _ _ _ _ _ K); auto).
  assert (SE : orphan u = true -> covers_chunk m v c).
  { intro X; destruct (lk_orphan _ _ _ _ _ _ _ _ K X) as (_ & [_ S] & _).
    intros x XC; eapply S; eauto. }
  split; [assumption|]; split.
  - destruct R' as [R'|[R1 R2]].
    + destruct (lk_turned _ _ _ _ _ _ _ _ K ltac:(lia)) as [T|T]; [|eapply SE; eassumption].
      destruct (lk_seen _ _ _ _ _ _ _ _ K _ _ N (le_n _)) as [S1 S2].
      assert (room * S (given u) <= room * (length (adopted u) - 1))
        by (apply Nat.mul_le_mono_l; lia).
      intros x X; destruct x; cbn in X; try discriminate; injection X as ->.
      * apply S2; lia.
      * destruct (Nat.lt_ge_cases i room) as [I|I]; [apply S1; lia|].
        unfold covers; specialize (BY c i w I); lia.
    + eapply SE; eassumption.
  - destruct K; constructor; fields; auto.
    + intro c0; rewrite <- lk_popped; unfold set_owner.
      destruct (Nat.eqb_spec c c0) as [<-|X]; [|tauto]. split; congruence.
    + intros j c0; unfold set_owner; destruct (Nat.eqb_spec c c0) as [<-|X].
      * split; [discriminate|]. intros [N' G'].
        assert (own c = Linked l j) by (apply lk_linked; split; [assumption|lia]).
        assert (j = given u) by congruence; lia.
      * rewrite lk_linked; split; intros [N' G']; split; auto; try lia.
        destruct (Nat.eq_dec j (given u)) as [->|]; [congruence|lia].
    + intros c0 x X O'; unfold set_owner in O'; destruct (Nat.eqb_spec c c0) as [<-|Y];
        [destruct O' as [O'|[j O']]; discriminate|]; eauto.
    + intros; apply lk_links; [assumption|lia].
    + intros; eapply lk_words; eauto; lia.
    + intros t x X j c0 N' G'; apply (lk_heads _ _ X _ _ N'); lia.
    + intros x X; destruct (lk_closed _ X) as [S1 S2]; split; auto.
      intros j c0 x0 N' G'; eapply S2; eauto; lia.
    + destruct R' as [R'|[R1 R2]]; [left; assumption|].
      destruct (Nat.eq_dec (S (given u)) (length (adopted u))); [right; right; auto|left; lia].
    + intros j c0 N' G'; apply (lk_seen _ _ N'); lia.
    + intro X; destruct (lk_orphan X) as (A1 & [A2 A3] & A4); split; [assumption|].
      split; [|assumption]; split; [assumption|]. intros j c0 x0 N' G'; eapply A3; eauto; lia.
    + intro X; destruct (lk_heard X) as (A1 & [A2 A3]); split; [assumption|].
      split; [assumption|]. intros j c0 x0 N' G'; eapply A3; eauto; lia.
Qed.

End Steps.
