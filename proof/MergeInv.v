(* SPDX-License-Identifier: MIT *)
(* MergeInv.v - what the steps of Merge.v keep, and the theorems about the order of events. *)
Require Import Arith List Lia Bool.
Require Import Merge.
Import ListNotations.

Lemma set_here : forall (A : Type) (f : nat -> A) k v, set f k v k = v.
Proof. intros; unfold set; rewrite Nat.eqb_refl; reflexivity. Qed.

Lemma set_other : forall (A : Type) (f : nat -> A) k k' v, k <> k' -> set f k v k' = f k'.
Proof. intros A f k k' v N; unfold set; destruct (Nat.eqb_spec k k'); congruence. Qed.

Lemma all_below_spec : forall n f, all_below n f = true <-> forall l, l < n -> f l = true.
Proof.
  intros n f; unfold all_below; rewrite forallb_forall; split; intros H l L.
  - apply H, in_seq; lia.
  - apply in_seq in L; apply H; lia.
Qed.

Lemma nth_app_last : forall (A : Type) (h : list A) x n y,
  nth_error (h ++ [x]) n = Some y -> nth_error h n = Some y \/ (n = length h /\ y = x).
Proof.
  intros A h x n y H; destruct (Nat.lt_ge_cases n (length h)) as [L|L].
  - rewrite nth_error_app1 in H by assumption; auto.
  - rewrite nth_error_app2 in H by assumption.
    destruct (n - length h) as [|d] eqn:E; simpl in H; [right; split; [lia|congruence]|].
    destruct d; discriminate.
Qed.

Lemma nth_below : forall (A : Type) (h : list A) n x, nth_error h n = Some x -> n < length h.
Proof. intros A h n x H; apply nth_error_Some; congruence. Qed.

Lemma nth_keeps : forall (A : Type) (h : list A) n x y,
  nth_error h n = Some x -> nth_error (h ++ [y]) n = Some x.
Proof. intros A h n x y H; rewrite nth_error_app1; [assumption|eapply nth_below; eauto]. Qed.

Lemma nth_skipn : forall (A : Type) k (h : list A) n, nth_error (skipn k h) n = nth_error h (k + n).
Proof. induction k; intros [|a h] n; cbn; auto; destruct n; reflexivity. Qed.

Section Invariant.

Variable e mo : nat.
Variable ns : nat -> nat.
Hypothesis small : e < mo.
Hypothesis monotone : forall a b, a <= b -> ns a <= ns b.

Notation step := (Merge.step (ours e mo) ns).
Notation reachable := (Merge.reachable (ours e mo) ns).

Definition is_rec (p : program) (l i : nat) (r : rec) : Prop := nth_error (lane p l) i = Some r.

(* A counter that was read at @at_ was read before the clock of this poll. *)
Definition before_poll (k : collector) (at_ : nat) : Prop :=
  doing k <> Idle /\ match polled_at k with Some t => at_ < t | None => True end.

(* Record i of lane l was visible to a thread that read the counter at @at_. *)
Definition was_shown (p : program) (k : collector) (l i at_ : nat) : Prop :=
  i < shown p l /\ (before_poll k at_ -> i < polled_shown k l /\ l < polled_used k).

(* The event before number n of coroutine c, with its time, if the next is made by thread l. *)
Definition has_last (p : program) (c n : nat) (P : nat -> nat -> rec -> Prop) : Prop :=
  forall n', n = S n' -> exists l i r, is_rec p l i r /\ co r = c /\ number r = n' /\ P l i r.

Record program_ok (now : nat) (p : program) (k : collector) : Prop := {
  k_used : forall l, used p <= l -> lane p l = [] /\ busy p l = None;
  k_shown : forall l, shown p l <= length (lane p l);
  k_number : forall l i r, is_rec p l i r -> number r < count p (co r);
  k_last : forall l i r, is_rec p l i r -> ticks r <= last p (co r);
  k_read : forall l i r, is_rec p l i r -> read_at r <= ticks r + e;
  k_once : forall l i r l' i' r', is_rec p l i r -> is_rec p l' i' r' ->
    co r = co r' -> number r = number r' -> l = l' /\ i = i';
  k_times : forall l i r l' i' r', is_rec p l i r -> is_rec p l' i' r' ->
    co r = co r' -> number r < number r' -> ticks r < ticks r';
  k_lane : forall l i r i' r', is_rec p l i r -> is_rec p l i' r' -> i <= i' -> ticks r <= ticks r';
  k_before : forall l i r, is_rec p l i r ->
    has_last p (co r) (number r) (fun l' i' r' => ticks r' < ticks r /\ (l' = l -> i' < i)
      /\ (l' <> l -> was_shown p k l' i' (read_at r)));
  k_busy : forall l c v at_, busy p l = Some (c, v, at_) ->
    holder p c = l /\ at_ <= now /\ at_ <= v + e
    /\ has_last p c (count p c) (fun l' i' r' => ticks r' = last p c
         /\ (l' <> l -> was_shown p k l' i' at_));
  k_held : forall c, has_last p c (count p c) (fun l' i' r' => ticks r' = last p c
    /\ (l' <> holder p c -> i' < shown p l'));
  k_ended : ended p = true -> forall l, busy p l = None
}.

Record collector_ok (now : nat) (p : program) (k : collector) : Prop := {
  c_taken : forall l, taken k l <= head k l <= shown p l;
  c_out : forall r, In r (out k) <-> exists l i, i < taken k l /\ is_rec p l i r;
  c_order : forall c, map number (of_co c (out k)) = seq 0 (length (of_co c (out k)));
  c_polled : doing k <> Idle -> (forall l, polled_shown k l <= shown p l) /\ polled_used k <= used p
    /\ match polled_at k with Some t => t <= now /\ limit k + mo = t | None => ended p = true end;
  c_lanes : match doing k with
            | Idle | Polled => True
            | Looking n => n <= lanes k /\ polled_used k <= lanes k
                           /\ forall l, l < n -> polled_shown k l <= head k l
            | Counted | Looked => False
            | Merging => polled_used k <= lanes k
                         /\ forall l, l < lanes k -> polled_shown k l <= head k l
            end;
  c_sorted : doing k <> Idle ->
    (doing k <> Merging -> length (out k) = polled_out k)
    /\ polled_out k <= length (out k)
    /\ (forall r l r', In r (skipn (polled_out k) (out k)) -> l < lanes k ->
          next p k l = Some r' -> ticks r <= ticks r')
    /\ (forall i j r r', polled_out k <= i <= j -> nth_error (out k) i = Some r ->
          nth_error (out k) j = Some r' -> ticks r <= ticks r')
}.

Definition inv (s : state) : Prop :=
  program_ok (clock s) (prog s) (con s) /\ collector_ok (clock s) (prog s) (con s).

(* ---- threads ------------------------------------------------------------------------ *)

Lemma has_last_mono : forall p p' c n (P Q : nat -> nat -> rec -> Prop),
  (forall l i r, is_rec p l i r -> is_rec p' l i r) ->
  (forall l i r, is_rec p l i r -> P l i r -> Q l i r) -> has_last p c n P -> has_last p' c n Q.
Proof.
  intros p p' c n P Q I PQ H n' E; destruct (H n' E) as (l & i & r & R & C & N & X).
  exists l, i, r; auto 6.
Qed.

Lemma shown_mono : forall p p' k l i at_, (forall l, shown p l <= shown p' l) ->
  was_shown p k l i at_ -> was_shown p' k l i at_.
Proof. intros p p' k l i at_ S [A B]; split; [specialize (S l); lia|assumption]. Qed.

(* The clock, the number of lanes, what is visible, the end, the holder of a coroutine. *)
Lemma program_more : forall now now' p p' k, program_ok now p k -> now <= now' ->
  used p <= used p' -> lane p' = lane p -> busy p' = busy p -> last p' = last p ->
  count p' = count p -> (forall l, shown p l <= shown p' l <= length (lane p l)) ->
  (forall l c v at_, busy p l = Some (c, v, at_) -> holder p' c = holder p c) ->
  (forall c, has_last p c (count p c) (fun l' i' r' => ticks r' = last p c
    /\ (l' <> holder p' c -> i' < shown p' l'))) ->
  (ended p' = true -> ended p = true \/ forall l, l < used p -> busy p l = None) ->
  program_ok now' p' k.
Proof.
  intros now now' p p' k K N U L B LA CO S HO HE EN.
  assert (SH : forall l i at_, was_shown p k l i at_ -> was_shown p' k l i at_).
  { intros; eapply shown_mono; [|eauto]; intro l0; apply S. }
  destruct K; constructor; unfold is_rec in *; rewrite ?L, ?B, ?LA, ?CO; auto.
  - intros l X; apply k_used0; lia.
  - intro l; apply S.
  - intros l i r R; eapply has_last_mono; [| |eauto]; unfold is_rec; rewrite ?L; auto.
    cbn; intros l' i' r' _ (A1 & A2 & A3); auto.
  - intros l c v at_ X; destruct (k_busy0 _ _ _ _ X) as (A1 & A2 & A3 & A4).
    rewrite (HO _ _ _ _ X); repeat split; auto; try lia.
    eapply has_last_mono; [| |exact A4]; unfold is_rec; rewrite ?L; auto.
    cbn; intros l' i' r' _ (B1 & B2); auto.
  - intro c; eapply has_last_mono; [| |apply HE]; unfold is_rec; rewrite ?L; auto.
  - intro X; destruct (EN X) as [Y|Y]; [auto|]. intro l.
    destruct (Nat.lt_ge_cases l (used p)); [auto|apply k_used0; assumption].
Qed.

Lemma held_same : forall now p p' k, program_ok now p k -> holder p' = holder p ->
  (forall l, shown p l <= shown p' l) ->
  forall c, has_last p c (count p c) (fun l' i' r' => ticks r' = last p c
    /\ (l' <> holder p' c -> i' < shown p' l')).
Proof.
  intros now p p' k K HO S c; rewrite HO; eapply has_last_mono; [| |apply (k_held _ _ _ K)]; auto.
  cbn; intros l i r _ (A & B); split; [assumption|]; intro X; specialize (S l); specialize (B X); lia.
Qed.

Lemma collector_more : forall now now' p p' k, collector_ok now p k -> now <= now' ->
  used p <= used p' -> (forall l, exists rest, lane p' l = lane p l ++ rest) ->
  (forall l, shown p l <= shown p' l) -> (forall l, shown p l <= length (lane p l)) ->
  (ended p = true -> ended p' = true) -> collector_ok now' p' k.
Proof.
  intros now now' p p' k K N U L S SL E.
  assert (NX : forall l i, i < shown p l -> nth_error (lane p' l) i = nth_error (lane p l) i).
  { intros l i H; destruct (L l) as (rest & ->); apply nth_error_app1; specialize (SL l); lia. }
  destruct K; constructor; auto.
  - intro l; specialize (c_taken0 l); specialize (S l); lia.
  - intro r; rewrite c_out0; unfold is_rec; split; intros (l & i & T & X); exists l, i;
      (split; [assumption|]); pose proof (c_taken0 l); [rewrite NX by lia|rewrite NX in X by lia]; assumption.
  - intro D; destruct (c_polled0 D) as (A & B & C); split; [intro l; specialize (A l); specialize (S l); lia|].
    split; [lia|]. destruct (polled_at k); [lia|auto].
  - intro D; destruct (c_sorted0 D) as (A & A' & B & C); repeat split; auto.
    intros r l r' I X NE; eapply B; eauto; unfold next in *.
    destruct (Nat.ltb_spec (taken k l) (head k l)); [|discriminate].
    rewrite NX in NE; [assumption|]. specialize (c_taken0 l); lia.
Qed.

Lemma append_inv : forall now p k l c v at_ t, program_ok now p k -> collector_ok now p k ->
  busy p l = Some (c, v, at_) -> t = Nat.max (Nat.max v (newest_ticks (lane p l))) (S (last p c)) ->
  let p' := append p l (Rec c (count p c) t at_) in
  program_ok now p' k /\ collector_ok now p' k.
Proof.
  intros now p k l c v at_ t K C B T p'. assert (NW : newest_ticks (lane p l) <= t) by lia.
  destruct (k_busy _ _ _ K _ _ _ _ B) as (HO & AN & AV & HL).
  assert (LU : l < used p).
  { destruct (Nat.lt_ge_cases l (used p)) as [X|X]; [assumption|].
    destruct (k_used _ _ _ K _ X); congruence. }
  assert (GR : forall l0 i r, is_rec p l0 i r -> is_rec p' l0 i r).
  { intros l0 i r R; unfold is_rec, p', set in *; cbn; unfold set.
    destruct (Nat.eqb_spec l l0) as [<-|]; [apply nth_keeps|]; assumption. }
  assert (INV : forall l0 i r, is_rec p' l0 i r -> is_rec p l0 i r
            \/ (l0 = l /\ i = length (lane p l) /\ r = Rec c (count p c) t at_)).
  { intros l0 i r R; unfold is_rec, p' in *; cbn in R; unfold set in R.
    destruct (Nat.eqb_spec l l0) as [<-|]; [|auto].
    apply nth_app_last in R; destruct R as [R|[-> ->]]; auto. }
  split.
  - assert (NEW : is_rec p' l (length (lane p l)) (Rec c (count p c) t at_)).
    { unfold is_rec, p'; cbn; rewrite set_here, nth_error_app2, Nat.sub_diag by lia; reflexivity. }
    constructor.
    + intros l0 X; cbn in *; rewrite !set_other by lia; apply (k_used _ _ _ K); assumption.
    + intro l0; cbn; unfold set; pose proof (k_shown _ _ _ K l0).
      destruct (Nat.eqb_spec l l0) as [<-|]; [rewrite app_length; lia|assumption].
    + intros l0 i r R; cbn; unfold set; destruct (INV _ _ _ R) as [R'|(-> & -> & ->)]; cbn.
      * pose proof (k_number _ _ _ K _ _ _ R') as X.
        destruct (Nat.eqb_spec c (co r)) as [E|]; [rewrite <- E in X; lia|assumption].
      * rewrite Nat.eqb_refl; lia.
    + intros l0 i r R; cbn; unfold set; destruct (INV _ _ _ R) as [R'|(-> & -> & ->)]; cbn.
      * pose proof (k_last _ _ _ K _ _ _ R') as X.
        destruct (Nat.eqb_spec c (co r)) as [E|]; [rewrite <- E in X; lia|assumption].
      * rewrite Nat.eqb_refl; lia.
    + intros l0 i r R; destruct (INV _ _ _ R) as [R'|(-> & -> & ->)]; cbn.
      * eapply k_read; eauto.
      * lia.
    + intros l1 i1 r1 l2 i2 r2 R1 R2 E1 E2.
      destruct (INV _ _ _ R1) as [R1'|(-> & -> & ->)]; destruct (INV _ _ _ R2) as [R2'|(-> & -> & ->)]; cbn in *.
      * eapply (k_once _ _ _ K); eauto.
      * pose proof (k_number _ _ _ K _ _ _ R1') as X; rewrite E1 in X; lia.
      * pose proof (k_number _ _ _ K _ _ _ R2') as X; rewrite <- E1 in X; lia.
      * auto.
    + intros l1 i1 r1 l2 i2 r2 R1 R2 E1 E2.
      destruct (INV _ _ _ R1) as [R1'|(-> & -> & ->)]; destruct (INV _ _ _ R2) as [R2'|(-> & -> & ->)]; cbn in *.
      * eapply (k_times _ _ _ K); eauto.
      * pose proof (k_last _ _ _ K _ _ _ R1') as X; rewrite E1 in X; lia.
      * pose proof (k_number _ _ _ K _ _ _ R2') as X; rewrite <- E1 in X; lia.
      * lia.
    + intros l0 i1 r1 i2 r2 R1 R2 LE.
      destruct (INV _ _ _ R1) as [R1'|(-> & -> & ->)]; destruct (INV _ _ _ R2) as [R2'|(X & -> & ->)]; cbn in *.
      * eapply (k_lane _ _ _ K); eauto.
      * subst l0. unfold newest_ticks in NW.
        destruct (@exists_last _ (lane p l)) as (h & b & EB).
        { intro Z; unfold is_rec in R1'; rewrite Z in R1'; destruct i1; discriminate. }
        rewrite EB, last_last in NW. etransitivity; [|exact NW].
        eapply (k_lane _ _ _ K l i1 r1 (length h)); [exact R1'| |].
        -- unfold is_rec; rewrite EB, nth_error_app2, Nat.sub_diag by lia; reflexivity.
        -- pose proof (nth_below _ _ _ _ R1') as Y; rewrite EB, app_length in Y; cbn in Y; lia.
      * apply nth_below in R2'; lia.
      * lia.
    + intros l0 i r R; destruct (INV _ _ _ R) as [R'|(-> & -> & ->)].
      * eapply has_last_mono; [exact GR| |apply (k_before _ _ _ K _ _ _ R')]. auto.
      * cbn [co number ticks read_at]; eapply has_last_mono; [exact GR| |exact HL].
        cbn; intros l' i' r' R' (A & A'); split; [lia|]; split; [|exact A'].
        intros ->; eapply nth_below; exact R'.
    + intros l0 c0 v0 at0 X; cbn in X; unfold set in X.
      destruct (Nat.eqb_spec l l0) as [<-|NL]; [discriminate|].
      destruct (k_busy _ _ _ K _ _ _ _ X) as (A1 & A2 & A3 & A4).
      assert (c <> c0) by (intros ->; congruence).
      cbn; rewrite !set_other by assumption; repeat split; auto.
      eapply has_last_mono; [exact GR| |exact A4]; auto.
    + intro c0; cbn; unfold set; destruct (Nat.eqb_spec c c0) as [<-|NC].
      * intros n' E; injection E as <-. exists l, (length (lane p l)), (Rec c (count p c) t at_).
        cbn; repeat split; auto; congruence.
      * eapply has_last_mono; [exact GR| |apply (k_held _ _ _ K)]; auto.
    + intros X l0; cbn in *; rewrite (k_ended _ _ _ K X) in B; discriminate.
  - eapply collector_more; [exact C|..]; cbn; auto.
    + intro l0; unfold set; destruct (Nat.eqb_spec l l0) as [<-|]; [eauto|exists []; rewrite app_nil_r; reflexivity].
    + apply (k_shown _ _ _ K).
Qed.

Lemma pstep_inv : forall now p k c p', program_ok now p k -> collector_ok now p k ->
  pstep (ours e mo) now p c = Some p' -> program_ok now p' k /\ collector_ok now p' k.
Proof.
  intros now p k ch p' K C H; pose proof (k_shown _ _ _ K) as SL.
  assert (NIL : forall l, exists rest, lane p l = lane p l ++ rest)
    by (intro; exists []; rewrite app_nil_r; reflexivity).
  assert (SAME : forall l, shown p l <= shown p l <= length (lane p l)) by (intro l; specialize (SL l); lia).
  destruct ch; cbn [pstep] in H; try discriminate.
  - (* Open *)
    destruct (ended p) eqn:E; [discriminate|]. injection H as <-; split.
    + eapply program_more; [exact K|..]; cbn; auto; try congruence.
      apply (held_same _ _ (open p) _ K); auto.
    + eapply collector_more; [exact C|..]; cbn; auto.
  - (* Read *)
    destruct (busy p l) eqn:B; [discriminate|].
    destruct (_ && _) eqn:X; [|discriminate]. injection H as <-.
    repeat (apply andb_true_iff in X; destruct X as [X ?]).
    apply Nat.ltb_lt in X; apply Nat.eqb_eq in H1; apply Nat.leb_le in H0; cbn in H0.
    apply negb_true_iff in H.
    split; [|eapply collector_more; [exact C|..]; cbn; auto].
    destruct K; constructor; cbn; auto.
    + intros l0 Y; rewrite set_other by lia; auto.
    + intros l0 c0 v at_ Y; unfold set in Y; destruct (Nat.eqb_spec l l0) as [<-|NL]; [|eauto].
      injection Y as <- <- <-; repeat split; auto; try lia.
      intros n' E; destruct (k_held0 c n' E) as (l' & i' & r' & R & CO & NU & A1 & A2).
      exists l', i', r'; repeat split; auto; try (apply A2; congruence);
        match goal with Z : before_poll _ _ |- _ => destruct Z as [D1 D2] end;
        destruct (c_polled _ _ _ C D1) as (_ & _ & PA); (destruct (polled_at k); [lia|congruence]).
    + intro Y; congruence.
  - (* Append *)
    destruct (busy p l) as [[[c v] at_]|] eqn:B; [|discriminate]. cbn [forward steady ours] in H.
    injection H as <-; eapply append_inv; eauto.
  - (* Show *)
    destruct (Nat.ltb_spec (shown p l) (length (lane p l))); [|discriminate]. injection H as <-.
    assert (SM : forall l0, shown p l0 <= shown (show p l) l0 <= length (lane p l0)).
    { intro l0; specialize (SL l0); cbn; unfold set; destruct (Nat.eqb_spec l l0) as [<-|]; lia. }
    split.
    + eapply program_more; [exact K|..]; cbn; auto.
      apply (held_same _ _ (show p l) _ K); auto; intro; apply SM.
    + eapply collector_more; [exact C|..]; cbn; auto; intro; apply SM.
  - (* Hand *)
    destruct (may_hand _ _ _ _) eqn:M; [|discriminate]. injection H as <-.
    unfold may_hand in M; cbn [handed ours negb orb] in M; apply andb_true_iff in M; destruct M as [M1 M2].
    rewrite forallb_forall in M2.
    split; [|eapply collector_more; [exact C|..]; cbn; auto].
    eapply program_more; [exact K|..]; cbn; auto.
    + intros l0 c0 v at_ B; destruct (k_busy _ _ _ K _ _ _ _ B) as (HO & _).
      apply set_other; intros <-. rewrite HO, B, Nat.eqb_refl in M1; discriminate.
    + intro c0; unfold set; destruct (Nat.eqb_spec c c0) as [<-|NC]; [|apply (k_held _ _ _ K)].
      intros n' E; destruct (k_held _ _ _ K c n' E) as (l' & i' & r' & R & CO & NU & TI & SH).
      exists l', i', r'; repeat split; auto. intros _.
      destruct (Nat.eq_dec l' (holder p c)) as [->|NL]; [|auto].
      destruct (Nat.lt_ge_cases i' (shown p (holder p c))) as [L|L]; [assumption|exfalso].
      assert (IN : In r' (skipn (shown p (holder p c)) (lane p (holder p c)))).
      { apply nth_error_In with (i' - shown p (holder p c)).
        rewrite nth_skipn. replace (shown p (holder p c) + (i' - shown p (holder p c))) with i' by lia.
        exact R. }
      specialize (M2 _ IN); rewrite CO, Nat.eqb_refl in M2; discriminate.
  - (* End *)
    destruct (all_below _ _) eqn:A; [|discriminate]. injection H as <-.
    rewrite all_below_spec in A. split; [|eapply collector_more; [exact C|..]; cbn; auto].
    eapply program_more; [exact K|..]; cbn; auto.
    + apply (held_same _ _ (finish p) _ K); auto.
    + intros _; right; intros l L; specialize (A l L); destruct (busy p l); [discriminate|reflexivity].
Qed.

(* ---- the collector --------------------------------------------------------------------- *)

(* The threads do not change. *)
Lemma program_con : forall now p k k', program_ok now p k ->
  (forall l i at_, was_shown p k l i at_ -> was_shown p k' l i at_) -> program_ok now p k'.
Proof.
  intros now p k k' K H; destruct K; constructor; auto.
  - intros l i r R n' E; destruct (k_before0 _ _ _ R n' E) as (l' & i' & r' & A1 & A2 & A3 & A4 & A5 & A6).
    exists l', i', r'; auto 10.
  - intros l c v at_ B; destruct (k_busy0 _ _ _ _ B) as (B1 & B2 & B3 & B4); repeat split; auto.
    intros n' E; destruct (B4 n' E) as (l' & i' & r' & A1 & A2 & A3 & A4 & A5).
    exists l', i', r'; auto 10.
Qed.

Lemma program_polled : forall now p k d lim at_, program_ok now p k ->
  program_ok now p (polled k p d lim at_).
Proof.
  intros now p k d lim at_ K; apply program_con with k; [assumption|].
  intros l i a [S _]; split; [assumption|]. intros _; cbn; split; [assumption|].
  destruct (Nat.lt_ge_cases l (used p)) as [L|L]; [assumption|].
  destruct (k_used _ _ _ K _ L) as [E _]; pose proof (k_shown _ _ _ K l) as X; rewrite E in X; cbn in X; lia.
Qed.

Lemma program_same : forall now p k k', program_ok now p k ->
  (doing k' <> Idle -> doing k <> Idle) -> polled_at k' = polled_at k ->
  polled_shown k' = polled_shown k -> polled_used k' = polled_used k -> program_ok now p k'.
Proof.
  intros now p k k' K D A S U; apply program_con with k; [assumption|].
  intros l i a [X Y]; split; [assumption|]. rewrite S, U; intros [B1 B2]; apply Y; split; [auto|].
  rewrite <- A; assumption.
Qed.

(* A record that this poll may take, and that no other is earlier than, has no event of its
   coroutine before it that is not taken. *)
Lemma before_taken : forall now p k l r, program_ok now p k -> collector_ok now p k ->
  doing k = Merging -> l < lanes k -> ready p k l = Some r ->
  (forall l' r', l' < lanes k -> ready p k l' = Some r' -> ticks r <= ticks r') ->
  forall n, number r = S n -> exists r', In r' (out k) /\ co r' = co r /\ number r' = n.
Proof.
  intros now p k l r K C D LN RE MIN n N.
  unfold ready, next in RE; destruct (Nat.ltb_spec (taken k l) (head k l)) as [TH|]; [|discriminate].
  destruct (nth_error (lane p l) (taken k l)) as [r0|] eqn:R; [|discriminate].
  destruct (Nat.leb_spec (ticks r0) (limit k)) as [LI|]; [|discriminate]. injection RE as ->.
  destruct (k_before _ _ _ K _ _ _ R n N) as (l' & i' & r' & A1 & A2 & A3 & A4 & A5 & A6).
  exists r'; split; [|auto]. apply (c_out _ _ _ C). exists l', i'; split; [|assumption].
  destruct (Nat.eq_dec l' l) as [->|NL]; [auto|].
  destruct (A6 NL) as [S1 S2].
  destruct (c_polled _ _ _ C) as (_ & _ & PA); [rewrite D; discriminate|].
  assert (BP : before_poll k (read_at r)).
  { split; [rewrite D; discriminate|]. pose proof (k_read _ _ _ K _ _ _ R).
    destruct (polled_at k); [lia|exact I]. }
  destruct (S2 BP) as [S3 S4]. pose proof (c_lanes _ _ _ C) as CL; rewrite D in CL.
  destruct CL as [C1 C2]; assert (LL : l' < lanes k) by lia; specialize (C2 _ LL).
  destruct (Nat.lt_ge_cases i' (taken k l')) as [|GE]; [assumption|exfalso].
  assert (exists r2, is_rec p l' (taken k l') r2) as (r2 & R2).
  { unfold is_rec; destruct (nth_error (lane p l') (taken k l')) as [r2|] eqn:Z; [eauto|].
    apply nth_error_None in Z; apply nth_below in A1; lia. }
  pose proof (k_lane _ _ _ K _ _ _ _ _ R2 A1 GE) as LE.
  assert (ready p k l' = Some r2).
  { unfold ready, next; destruct (Nat.ltb_spec (taken k l') (head k l')); [|lia].
    unfold is_rec in R2; rewrite R2. destruct (Nat.leb_spec (ticks r2) (limit k)); [reflexivity|lia]. }
  specialize (MIN _ _ LL H); lia.
Qed.

Lemma of_co_app : forall c a b, of_co c (a ++ b) = of_co c a ++ of_co c b.
Proof. intros; unfold of_co; apply filter_app. Qed.

Lemma not_earlier : forall a b, earlier ns a b = false -> ticks b <= ticks a.
Proof.
  intros a b H; unfold earlier in H.
  destruct (Nat.eqb_spec (ns (ticks a)) (ns (ticks b))) as [E|N].
  - apply Nat.ltb_ge in H; assumption.
  - apply Nat.ltb_ge in H. destruct (Nat.le_gt_cases (ticks b) (ticks a)) as [|L]; [assumption|].
    assert (ns (ticks a) <= ns (ticks b)) by (apply monotone; lia). lia.
Qed.

Lemma take_inv : forall now p k l r, program_ok now p k -> collector_ok now p k ->
  doing k = Merging -> l < lanes k -> ready p k l = Some r ->
  (forall l' r', l' < lanes k -> ready p k l' = Some r' -> ticks r <= ticks r') ->
  collector_ok now p (hand_on k l r).
Proof.
  intros now p k l r K C D LN RE MIN.
  pose proof (before_taken _ _ _ _ _ K C D LN RE MIN) as BT.
  assert (NX : taken k l < head k l /\ is_rec p l (taken k l) r /\ ticks r <= limit k).
  { unfold ready, next in RE; destruct (Nat.ltb_spec (taken k l) (head k l)); [|discriminate].
    unfold is_rec; destruct (nth_error (lane p l) (taken k l)); [|discriminate].
    destruct (Nat.leb_spec (ticks r0) (limit k)); [|discriminate]. injection RE as ->; auto. }
  destruct NX as (TH & R & LI).
  pose proof (c_lanes _ _ _ C) as CL; rewrite D in CL.
  destruct C; rewrite D in c_polled0; constructor; cbn [hand_on doing limit lanes head taken out polled_at polled_used polled_shown
    polled_out]; auto.
  - intro l0; unfold set; specialize (c_taken0 l0); destruct (Nat.eqb_spec l l0) as [<-|]; lia.
  - intro r0; rewrite in_app_iff, c_out0; unfold set; split.
    + intros [(l0 & i & L & X)|[<-|[]]].
      * exists l0, i; split; [|assumption]. destruct (Nat.eqb_spec l l0) as [<-|]; lia.
      * exists l, (taken k l); split; [rewrite Nat.eqb_refl; lia|assumption].
    + intros (l0 & i & L & X); destruct (Nat.eqb_spec l l0) as [<-|NL]; [|left; eauto].
      destruct (Nat.eq_dec i (taken k l)) as [->|NI]; [|left; exists l, i; split; [lia|assumption]].
      right; left; unfold is_rec in *; congruence.
  - intro c; rewrite of_co_app, map_app, app_length, c_order0; cbn [of_co filter].
    destruct (Nat.eqb_spec (co r) c) as [<-|NC]; cbn; [|rewrite app_nil_r, Nat.add_0_r; reflexivity].
    rewrite seq_app; cbn; f_equal; f_equal.
    set (n := length (of_co (co r) (out k))).
    assert (IN : forall j, j < n <-> exists r', In r' (out k) /\ co r' = co r /\ number r' = j).
    { intro j; specialize (c_order0 (co r)); fold n in c_order0.
      assert (X : In j (map number (of_co (co r) (out k))) <-> j < n) by (rewrite c_order0, in_seq; lia).
      rewrite <- X, in_map_iff; unfold of_co; split.
      - intros (r' & E & I); apply filter_In in I; destruct I as [I1 I2]; apply Nat.eqb_eq in I2; eauto.
      - intros (r' & I & E1 & E2); exists r'; split; [assumption|]. apply filter_In; split; [assumption|].
        apply Nat.eqb_eq; assumption. }
    destruct (Nat.lt_trichotomy (number r) n) as [L|[E|L]]; [exfalso|assumption|exfalso].
    + apply IN in L; destruct L as (r' & I & E1 & E2); apply c_out0 in I; destruct I as (l' & i' & L & X).
      destruct (k_once _ _ _ K _ _ _ _ _ _ X R E1 E2) as [-> ->]; lia.
    + destruct (number r) as [|m] eqn:E; [lia|]. specialize (BT m eq_refl). apply IN in BT; lia.
  - intros _; destruct c_sorted0 as (A1 & A2 & A3 & A4); [rewrite D; discriminate|].
    assert (LOW : forall l' r', l' < lanes k -> next p k l' = Some r' -> ticks r <= ticks r').
    { intros l' r' L' N'. destruct (Nat.le_gt_cases (ticks r') (limit k)) as [Z|Z]; [|lia].
      eapply MIN; [exact L'|]. unfold ready; rewrite N'. apply Nat.leb_le in Z; rewrite Z; reflexivity. }
    assert (NR : next p k l = Some r).
    { unfold next; destruct (Nat.ltb_spec (taken k l) (head k l)); [exact R|lia]. }
    assert (LATER : forall l' r', l' < lanes k -> next p (hand_on k l r) l' = Some r' -> ticks r <= ticks r').
    { intros l' r' L' N'; unfold next in N'; cbn in N'; unfold set in N'.
      destruct (Nat.eqb_spec l l') as [<-|NL].
      - match type of N' with (if ?b then _ else _) = _ => destruct b; [|discriminate] end.
        eapply (k_lane _ _ _ K); [exact R|exact N'|lia].
      - eapply LOW; [exact L'|exact N']. }
    split; [intro X; destruct (X eq_refl)|]. split; [rewrite app_length; lia|]. split.
    + intros r0 l' r' I L' N'. rewrite skipn_app in I.
      replace (polled_out k - length (out k)) with 0 in I by lia; cbn in I.
      apply in_app_or in I; destruct I as [I|[<-|[]]]; [|eauto].
      etransitivity; [eapply A3; [exact I|exact LN|exact NR]|]; eauto.
    + intros i j r1 r2 IJ N1 N2. apply nth_app_last in N1, N2.
      destruct N1 as [N1|[-> ->]], N2 as [N2|[-> ->]]; [eauto| | |lia].
      * eapply A3; [|exact LN|exact NR]. apply nth_error_In with (i - polled_out k).
        rewrite nth_skipn; replace (polled_out k + (i - polled_out k)) with i by lia; assumption.
      * apply nth_below in N2; lia.
Qed.

Lemma cstep_inv : forall now p k c k', program_ok now p k -> collector_ok now p k ->
  cstep (ours e mo) ns now p k c = Some k' -> program_ok now p k' /\ collector_ok now p k'.
Proof.
  intros now p k ch k' K C H; unfold cstep in H; cbn [first ours moment] in H.
  destruct ch; try discriminate; destruct (doing k) eqn:D; try discriminate.
  - (* Poll *)
    destruct (Nat.leb_spec mo now); [|discriminate]. injection H as <-.
    split; [apply program_polled; assumption|].
    destruct C; constructor; cbn; auto.
    + intros _; repeat split; auto; lia.
    + intros _; repeat split; auto.
      * rewrite skipn_all; intros r l r' [].
      * intros i j r r' IJ N1 N2; apply nth_below in N1; lia.
  - (* PollLast *)
    destruct (quiet p) eqn:Q; [|discriminate]. injection H as <-.
    split; [apply program_polled; assumption|]. apply andb_true_iff in Q; destruct Q as [Q _].
    destruct C; constructor; cbn; auto.
    intros _; repeat split; auto.
    + rewrite skipn_all; intros r l r' [].
    + intros i j r r' IJ N1 N2; apply nth_below in N1; lia.
  - (* Count *)
    injection H as <-. assert (DK : doing k <> Idle) by (rewrite D; discriminate).
    split; [apply program_same with k; cbn; auto|].
    destruct C; constructor; cbn; auto.
    + destruct (c_polled0 DK) as (A1 & A2 & A3); repeat split; auto; lia.
    + intros _; destruct (c_sorted0 DK) as (A1 & A2 & A3 & A4).
      assert (length (out k) = polled_out k) by (apply A1; rewrite D; discriminate).
      repeat split; auto. intros r l r' I; rewrite skipn_all2 in I by lia; destruct I.
  - (* Look *)
    assert (DK : doing k <> Idle) by (rewrite D; discriminate).
    destruct (Nat.ltb_spec k0 (lanes k)) as [L|L]; injection H as <-.
    + split; [apply program_same with k; cbn; auto|].
      destruct C; rewrite D in *; constructor; cbn; auto.
      * intro l; unfold set; specialize (c_taken0 l); destruct (Nat.eqb_spec k0 l) as [<-|]; lia.
      * destruct c_lanes0 as (A1 & A2 & A3); repeat split; auto.
        intros l LL; unfold set; destruct (Nat.eqb_spec k0 l) as [<-|NL]; [apply c_polled0; discriminate|].
        apply A3; lia.
      * intros _; destruct c_sorted0 as (A1 & A2 & A3 & A4); [discriminate|].
        assert (length (out k) = polled_out k) by (apply A1; discriminate).
        repeat split; auto. intros r l r' I; rewrite skipn_all2 in I by lia; destruct I.
    + split; [apply program_same with k; cbn; auto|].
      destruct C; rewrite D in *; constructor; cbn; auto.
      * destruct c_lanes0 as (A1 & A2 & A3); split; [assumption|]. intros l LL; apply A3; lia.
      * intros _; destruct c_sorted0 as (A1 & A2 & A3 & A4); [discriminate|]. repeat split; auto.
  - (* Take *)
    destruct (ready p k l) as [r|] eqn:R; [|discriminate].
    destruct (_ && _) eqn:X; [|discriminate]. injection H as <-.
    apply andb_true_iff in X; destruct X as [X1 X2]; apply Nat.ltb_lt in X1; rewrite all_below_spec in X2.
    split; [apply program_same with k; cbn; auto; rewrite D; discriminate|].
    apply take_inv; auto. intros l' r' L' R'; specialize (X2 _ L'); rewrite R' in X2.
    apply not_earlier, negb_true_iff; assumption.
  - (* Done *)
    injection H as <-. split; [apply program_same with k; cbn; auto; congruence|].
    destruct C; constructor; cbn; auto; congruence.
Qed.

Lemma step_inv : forall s c s', inv s -> step s c = Some s' -> inv s'.
Proof.
  intros s c s' [K C] H; unfold inv; destruct c; cbn [Merge.step] in H;
    try (destruct (pstep _ _ _ _) as [p|] eqn:P; [|discriminate]; injection H as <-; cbn;
         eapply pstep_inv; eauto; fail);
    try (destruct (cstep _ _ _ _ _ _) as [k|] eqn:P; [|discriminate]; injection H as <-; cbn;
         eapply cstep_inv; eauto; fail).
  injection H as <-; cbn; pose proof (k_shown _ _ _ K) as SL; split.
  - eapply program_more; [exact K|..]; auto.
    apply (held_same _ _ (prog s) _ K); auto.
  - eapply collector_more; [exact C|..]; auto. intro; exists []; rewrite app_nil_r; reflexivity.
Qed.

Lemma inv0 : inv state0.
Proof.
  assert (NR : forall l i r, ~ is_rec (prog state0) l i r) by (intros l [|i] r; discriminate).
  split; constructor; cbn; auto; try lia; try discriminate; try congruence;
    try (intros; exfalso; eapply NR; eauto; fail).
  intro r; split; [contradiction|]. intros (l & i & L & _); lia.
Qed.

Lemma reachable_inv : forall s, reachable s -> inv s.
Proof.
  intros s (cs & R); revert R; generalize inv0; generalize state0.
  induction cs as [|c cs IH]; cbn; intros s0 I R; [congruence|].
  destruct (step s0 c) as [s1|] eqn:S; [|discriminate]. eapply IH; [|exact R]. eapply step_inv; eauto.
Qed.

(* ---- theorems ------------------------------------------------------------------------------ *)

(* The times of a lane do not decrease: not assumed, but what the writer does. *)
Theorem lanes_are_steady : forall s l i j r r', reachable s -> i <= j ->
  nth_error (lane (prog s) l) i = Some r -> nth_error (lane (prog s) l) j = Some r' ->
  ticks r <= ticks r'.
Proof. intros s l i j r r' R IJ N1 N2; apply reachable_inv in R; destruct R as [K _]; eapply k_lane; eauto. Qed.

(* The events of a coroutine are handed on as number 0, 1, 2, ..., whichever lanes they are in. *)
Theorem merged_in_order : forall s c, reachable s ->
  map number (of_co c (out (con s))) = seq 0 (length (of_co c (out (con s)))).
Proof. intros s c R; apply reachable_inv in R; apply R. Qed.

(* And their times strictly increase. *)
Theorem merged_times_increase : forall s c i j r r', reachable s -> i < j ->
  nth_error (of_co c (out (con s))) i = Some r -> nth_error (of_co c (out (con s))) j = Some r' ->
  ticks r < ticks r'.
Proof.
  intros s c i j r r' R IJ N1 N2; pose proof (merged_in_order s c R) as O.
  apply reachable_inv in R; destruct R as [K C].
  assert (NU : forall i r, nth_error (of_co c (out (con s))) i = Some r -> number r = i).
  { intros i0 r0 N; pose proof (nth_below _ _ _ _ N) as L; apply (map_nth_error number) in N.
    rewrite O, (nth_error_nth' _ 0) in N by (rewrite seq_length; assumption).
    rewrite seq_nth in N by assumption; cbn in N; congruence. }
  assert (IN : forall i r, nth_error (of_co c (out (con s))) i = Some r ->
     co r = c /\ exists l p, is_rec (prog s) l p r).
  { intros i0 r0 N; apply nth_error_In, filter_In in N; destruct N as [I E]; apply Nat.eqb_eq in E.
    split; [assumption|]. apply (c_out _ _ _ C) in I; destruct I as (l & p & _ & X); eauto. }
  pose proof (NU _ _ N1); pose proof (NU _ _ N2).
  destruct (IN _ _ N1) as (E1 & l1 & p1 & R1), (IN _ _ N2) as (E2 & l2 & p2 & R2).
  eapply (k_times _ _ _ K); [exact R1|exact R2| |]; congruence || lia.
Qed.

(* All that is handed on was written, each record once. *)
Theorem merged_once : forall s, reachable s ->
  (forall r, In r (out (con s)) -> exists l, In r (lane (prog s) l))
  /\ forall c, NoDup (map number (of_co c (out (con s)))).
Proof.
  intros s R; split.
  - apply reachable_inv in R; destruct R as [_ C]. intros r I; apply (c_out _ _ _ C) in I.
    destruct I as (l & i & _ & X); exists l; eapply nth_error_In; exact X.
  - intro c; rewrite merged_in_order by assumption; apply seq_NoDup.
Qed.

(* The events of one poll, of all coroutines, are in the order of time. *)
Theorem poll_in_time_order : forall s i j r r', reachable s -> doing (con s) <> Idle ->
  polled_out (con s) <= i <= j -> nth_error (out (con s)) i = Some r ->
  nth_error (out (con s)) j = Some r' -> ticks r <= ticks r'.
Proof.
  intros s i j r r' R D IJ N1 N2; apply reachable_inv in R; destruct R as [_ C].
  destruct (c_sorted _ _ _ C D) as (_ & _ & _ & A); eauto.
Qed.

(* ---- how far times run ahead of the counter ------------------------------------------------ *)

(* No time of a record, of a coroutine or of a lane is more than n ticks after the counter. *)
Definition ahead (n : nat) (s : state) : Prop :=
  (forall c, last (prog s) c <= clock s + n)
  /\ (forall l i r, is_rec (prog s) l i r -> ticks r <= clock s + n)
  /\ forall l c v at_, busy (prog s) l = Some (c, v, at_) -> v <= clock s + n.

(* An event adds a tick at most, and a tick of the counter takes one back. *)
Fixpoint lead (n : nat) (cs : list choice) : nat :=
  match cs with
  | [] => n
  | Tick :: rest => lead (pred n) rest
  | Append _ :: rest => lead (S n) rest
  | _ :: rest => lead n rest
  end.

Lemma newest_is_rec : forall p l, newest_ticks (lane p l) = 0
  \/ exists i r, is_rec p l i r /\ ticks r = newest_ticks (lane p l).
Proof.
  intros p l; unfold newest_ticks, is_rec; destruct (lane p l) as [|a h] using rev_ind; [left; reflexivity|].
  right; exists (length h), a; rewrite last_last; split; [|reflexivity].
  rewrite nth_error_app2, Nat.sub_diag by lia; reflexivity.
Qed.

Lemma append_ahead : forall s l c v at_ n, ahead n s -> busy (prog s) l = Some (c, v, at_) ->
  let t := Nat.max (Nat.max v (newest_ticks (lane (prog s) l))) (S (last (prog s) c)) in
  ahead (S n) (St (clock s) (append (prog s) l (Rec c (count (prog s) c) t at_)) (con s)).
Proof.
  intros s l c v at_ n (A & B & D) BU t.
  assert (T : t <= clock s + S n).
  { pose proof (A c); pose proof (D _ _ _ _ BU).
    destruct (newest_is_rec (prog s) l) as [E|(i & r & R & E)]; [|pose proof (B _ _ _ R)]; lia. }
  split; [|split]; cbn; unfold set.
  - intro c0; pose proof (A c0); destruct (Nat.eqb_spec c c0); lia.
  - intros l0 i r; unfold is_rec; cbn; unfold set; destruct (Nat.eqb_spec l l0) as [<-|]; intro R.
    + apply nth_app_last in R; destruct R as [R|[_ ->]]; [|exact T]. pose proof (B _ _ _ R); lia.
    + pose proof (B _ _ _ R); lia.
  - intros l0 c0 v0 at0; destruct (Nat.eqb_spec l l0); [discriminate|]. intro X; pose proof (D _ _ _ _ X); lia.
Qed.

Lemma step_ahead : forall s c s' n, ahead n s -> step s c = Some s' -> ahead (lead n [c]) s'.
Proof.
  intros s c s' n AH H; pose proof AH as (A & B & D).
  destruct c; cbn [Merge.step] in H; cbn [lead];
    try (destruct (cstep _ _ _ _ _ _) as [k|]; [|discriminate]; injection H as <-; exact AH).
  - injection H as <-; split; [|split]; cbn.
    + intro c; pose proof (A c); lia.
    + intros l i r R; pose proof (B _ _ _ R); lia.
    + intros l c v at_ X; pose proof (D _ _ _ _ X); lia.
  - cbn in H; destruct (ended (prog s)); [discriminate|]. injection H as <-; exact AH.
  - cbn in H; destruct (busy (prog s) l) eqn:BU; [discriminate|].
    destruct (_ && _); [|discriminate]. injection H as <-; split; [exact A|split; [exact B|]]; cbn.
    intros l0 c0 v0 at0; unfold set; destruct (Nat.eqb_spec l l0); [|eauto]. intro X; injection X as <- <- <-; lia.
  - cbn in H; destruct (busy (prog s) l) as [[[c v] at_]|] eqn:BU; [|discriminate].
    injection H as <-; apply (append_ahead _ _ _ _ _ _ AH BU).
  - cbn [pstep] in H; destruct (_ <? _); [|discriminate]. injection H as <-; exact AH.
  - cbn [pstep] in H; destruct (may_hand _ _ _ _); [|discriminate]. injection H as <-; exact AH.
  - cbn in H; destruct (all_below _ _); [|discriminate]. injection H as <-; exact AH.
Qed.

Theorem ahead_at_most_by_events : forall cs s s' n, ahead n s ->
  run (ours e mo) ns s cs = Some s' -> ahead (lead n cs) s'.
Proof.
  induction cs as [|c cs IH]; intros s s' n AH R; [injection R as <-; exact AH|].
  cbn [run] in R; destruct (step s c) as [s1|] eqn:S1; [|discriminate].
  pose proof (step_ahead _ _ _ _ AH S1) as A1. specialize (IH _ _ _ A1 R).
  destruct c; exact IH.
Qed.

End Invariant.
