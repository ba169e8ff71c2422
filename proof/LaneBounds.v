(* SPDX-License-Identifier: MIT *)
(* LaneBounds.v - no view is ahead of its history: a load can always return the newest message. *)
Require Import Arith List Lia Bool Cantor.
Require Import Memory Lane.
Import ListNotations.

Definition thread_in (m : memory) (th : thread) : Prop :=
  bounded m (cur th) /\ bounded m (acq th) /\ bounded m (rel th).

Definition messages_in (m : memory) : Prop :=
  forall x t y, nth_error (m x) t = Some y -> bounded m (carries y).

Lemma thread_in_append : forall (m : memory) th x y, thread_in m th -> thread_in (append m x y) th.
Proof. intros m th x y (A & B & C); repeat split; apply bounded_append; assumption. Qed.

Lemma load_in : forall o x t (m : memory) th v th', messages_in m -> thread_in m th ->
  load o x t m th = Some (v, th') -> thread_in m th'.
Proof.
  intros o x t m th v th' M (A & B & C) L.
  destruct (load_bounded _ _ _ _ _ _ _ M A B L); repeat split; auto.
  unfold load in L; destruct (_ <=? _); [|discriminate].
  destruct (nth_error _ _); [|discriminate]; destruct o; injection L as _ <-; assumption.
Qed.

Lemma append_in : forall (m : memory) x y, messages_in m ->
  bounded (append m x y) (carries y) -> messages_in (append m x y).
Proof.
  intros m x y M B x' t z N; apply append_nth in N; destruct N as [N|(_ & _ & ->)]; [|assumption].
  apply bounded_append; eapply M; eauto.
Qed.

Lemma at_in : forall (m : memory) x y, (forall z, 0 < length (m z)) ->
  bounded (append m x y) (at_ x (length (m x))).
Proof.
  intros m x y P; apply bounded_at.
  - intro z; rewrite append_length; specialize (P z); lia.
  - rewrite append_length, loc_eqb_refl; lia.
Qed.

Ltac joins := repeat apply bounded_join; try assumption; try (apply bounded_append; assumption).

Lemma store_in : forall o x v (m : memory) th m' th', messages_in m -> thread_in m th ->
  store o x v m th = (m', th') ->
  messages_in m' /\ thread_in m' th' /\ forall th0, thread_in m th0 -> thread_in m' th0.
Proof.
  intros o x v m th m' th' M (A & B & C) S; unfold store in S; injection S as <- <-.
  assert (P : forall z, 0 < length (m z)) by (eapply bounded_positive; eauto).
  pose proof (at_in m x (Msg v (join match o with Relaxed => rel th | Ordered => cur th end
    (at_ x (length (m x))))) P) as AT.
  split; [|split].
  - apply append_in; [assumption|]; cbn; destruct o; joins.
  - repeat split; cbn; joins.
  - intros; apply thread_in_append; assumption.
Qed.

Lemma newest_in : forall (m : memory) x v, messages_in m -> bounded m v ->
  bounded m (carries (newest_msg m x)).
Proof.
  intros m x v M B; pose proof (bounded_positive _ _ B x) as P; unfold newest_msg.
  destruct (@exists_last _ (m x)) as (h & y & E); [destruct (m x); [cbn in P; lia|discriminate]|].
  rewrite E, last_last; apply (M x (length h)).
  rewrite E, nth_error_app2, Nat.sub_diag by lia; reflexivity.
Qed.

Lemma rmw_in : forall x (m : memory) th v p, messages_in m -> thread_in m th -> bounded m p ->
  let y := Msg v (join (carries (newest_msg m x)) (join p (at_ x (length (m x))))) in
  messages_in (append m x y)
  /\ thread_in (append m x y)
       (Thread (join (cur th) (at_ x (length (m x))))
               (join (acq th) (join (carries (newest_msg m x)) (at_ x (length (m x))))) (rel th))
  /\ forall th0, thread_in m th0 -> thread_in (append m x y) th0.
Proof.
  intros x m th v p M (A & B & C) BP y.
  assert (P : forall z, 0 < length (m z)) by (eapply bounded_positive; eauto).
  pose proof (at_in m x y P) as AT; pose proof (newest_in m x _ M A) as NI.
  split; [|split].
  - apply append_in; [assumption|]; cbn; joins.
  - repeat split; cbn; joins.
  - intros; apply thread_in_append; assumption.
Qed.

Lemma cas_in : forall o x old v (m : memory) th m' th', messages_in m -> thread_in m th ->
  cas o x old v m th = Some (m', th') ->
  messages_in m' /\ thread_in m' th' /\ forall th0, thread_in m th0 -> thread_in m' th0.
Proof.
  intros o x old v m th m' th' M T H; unfold cas in H; destruct (_ =? _); [|discriminate].
  injection H as <- <-; apply rmw_in; auto; destruct T as (A & B & C), o; assumption.
Qed.

Section Steps.

Variable room limit : nat.
Variable event : nat -> nat -> item.

Record views_in (s : state) : Prop := {
  vi_mem : messages_in (mem s);
  vi_prod : forall l, thread_in (mem s) (pth (prod s l));
  vi_con : thread_in (mem s) (cth (con s))
}.

Lemma views_in0 : views_in state0.
Proof.
  assert (B : bounded (memory0 (loc := place)) bottom) by (intro; unfold memory0, bottom; cbn; lia).
  constructor; cbn; intros; try (repeat split; assumption).
  intros x [|[|t]] y N; cbn in N; try discriminate; injection N as <-; exact B.
Qed.

Definition fine (m m' : memory) (th' : thread) : Prop :=
  messages_in m' /\ thread_in m' th' /\ forall th0, thread_in m th0 -> thread_in m' th0.

Lemma pstep_in : forall o l t m p m' p', messages_in m -> thread_in m (pth p) ->
  pstep room limit event o l t m p = Some (m', p') -> fine m m' (pth p').
Proof.
  intros o l t m p m' p' M T H; unfold pstep in H; unfold fine.
  destruct (pc p);
    try (injection H as <- <-; cbn; auto; fail);
    try (destruct (load _ _ _ _ _) as [[v th]|] eqn:L; [|discriminate]; injection H as <- <-; cbn;
         split; [assumption|split; [eapply load_in; eauto|auto]]; fail);
    try (destruct (cas _ _ _ _ _ _) as [[m1 th]|] eqn:C; injection H as <- <-; cbn;
         [eapply cas_in; eauto|auto]; fail);
    try (destruct (store _ _ _ _ _) as [m1 th] eqn:S; injection H as <- <-; cbn;
         eapply store_in; eauto; fail);
    try discriminate.
  destruct (chain p).
  - unfold fetch_add in H; injection H as <- <-; apply rmw_in; auto; apply T.
  - destruct (store _ _ _ _ _) as [m1 th] eqn:S; injection H as <- <-; eapply store_in; eauto.
Qed.

Lemma cstep_in : forall o a t m k m' k', messages_in m -> thread_in m (cth k) ->
  cstep room o a t m k = Some (m', k') -> fine m m' (cth k').
Proof.
  intros o a t m k m' k' M T H; unfold cstep in H; unfold fine.
  destruct (doing k), a; try discriminate;
    try (destruct (store _ _ _ _ _) as [m1 th] eqn:S; injection H as <- <-; cbn;
         eapply store_in; eauto; fail);
    try (destruct (cas _ _ _ _ _ _) as [[m1 th]|] eqn:C; injection H as <- <-; cbn;
         [eapply cas_in; eauto|auto]; fail);
    try (destruct (_ && _); [|discriminate]; injection H as <- <-; cbn; auto; fail);
    try (destruct (may_return _); [|discriminate]; injection H as <- <-; cbn; auto; fail);
    try (destruct (may_turn _ _); [|discriminate]);
    (destruct (load _ _ _ _ _) as [[v th]|] eqn:L; [|discriminate]; injection H as <- <-;
     split; [assumption|]; split; [|auto]; unfold copied, garbage;
     repeat match goal with |- context [if ?b then _ else _] => destruct b end;
     cbn; eapply load_in; eauto).
Qed.

Lemma step_in : forall o s c s', views_in s -> step room limit event o s c = Some s' -> views_in s'.
Proof.
  intros o s c s' [M P C] H; unfold step in H.
  assert (PR : forall l m' p', fine (mem s) m' (pth p') ->
    views_in (St m' (fun l' => if l =? l' then p' else prod s l') (con s))).
  { intros l m' p' (F1 & F2 & F3); constructor; cbn; auto.
    intro l'; destruct (l =? l'); auto. }
  destruct c as [l t|l|l|l other|l|l|a t].
  - destruct (dead (prod s l)); [discriminate|]. unfold after in H.
    destruct (pstep _ _ _ _ _ _ _ _) as [[m p]|] eqn:S; [|discriminate]. injection H as <-.
    apply PR; eapply pstep_in; eauto.
  - destruct (dead (prod s l)); [discriminate|]. unfold after, pclose in H.
    destruct (pc (prod s l)); try discriminate. destruct (chain (prod s l)); [discriminate|].
    destruct (store _ _ _ _ _) as [m1 th1] eqn:S; injection H as <-.
    apply PR; exact (store_in _ _ _ _ _ _ _ M (P l) S).
  - destruct (dead (prod s l)); [discriminate|]. unfold still, pgive_up, set_producer in H.
    destruct (pc (prod s l)); try discriminate; injection H as <-; apply PR;
      (split; [assumption|split; [apply P|auto]]).
  - destruct (dead (prod s l)); [discriminate|]. unfold still, pmove, set_producer in H.
    destruct (pc (prod s l)); try discriminate; injection H as <-; apply PR.
    split; [assumption|split; [|auto]]; cbn. destruct (P l) as (A1 & _), (P other) as (B1 & B2 & B3); repeat split; joins.
  - destruct (dead (prod s l)); [discriminate|]. injection H as <-; apply PR.
    split; [assumption|split; [apply P|auto]].
  - destruct (dead (prod s l)); [|discriminate]. unfold mourn in H.
    destruct (doing (con s)); try discriminate; injection H as <-; constructor; cbn; auto.
    destruct (P l) as (A1 & _), C as (B1 & B2 & B3); repeat split; joins.
  - destruct (cstep _ _ _ _ _ _) as [[m k]|] eqn:S; [|discriminate]. injection H as <-.
    destruct (cstep_in _ _ _ _ _ _ _ M C S) as (F1 & F2 & F3); constructor; cbn; auto.
Qed.

End Steps.
