(* SPDX-License-Identifier: MIT *)
(*
   Writer.v - the state of memory while the writer writes.

   The point of the proof: in a slot's history of seq, the value of a message is its
   timestamp (0, 1, 2, ...), and write n of a field (from 1) has timestamp n.  So
   "the newest message seen" and "the oldest message readable" are the same number.
*)
Require Import Arith List Lia Bool ZArith ZifyNat.
Require Import Memory Slot.
Import ListNotations.

(* Quotients become equations where arith asks for it: for every lia they would take most of the time. *)
Ltac Zify.zify_convert_to_euclidean_division_equations_flag ::= constr:(false).

Ltac arith := unfold slot_of, seq_of, event_of, slots in *; Zify.zify; Z.to_euclidean_division_equations; lia.

(* ---- counting ------------------------------------------------------------ *)

(* The number of events before k that were in slot i. *)
Definition turns (k i : nat) : nat := (k + 7 - i) / 8.

Lemma turns_here : forall k, turns k (slot_of k) = k / 8.
Proof. intro k; unfold turns; arith. Qed.

Lemma turns_S : forall k i, i < 8 ->
  turns (S k) i = turns k i + (if i =? slot_of k then 1 else 0).
Proof.
  intros k i H; unfold turns; destruct (Nat.eqb_spec i (slot_of k)); arith.
Qed.

Lemma turns_past : forall k k', k < k' -> k / 8 + 1 <= turns k' (slot_of k).
Proof. intros k k' H; unfold turns; arith. Qed.

(* The writer's instruction that stores a field for the first time. *)
Definition pos (f : field) : nat :=
  match f with Seq => 0 | Time => 2 | Tid => 3 | Addr => 4 | Act => 5 end.

(* Stores so far to field f of slot i, by a writer at instruction p of event k. *)
Definition stores (k p i : nat) (f : field) : nat :=
  (match f with Seq => 2 | _ => 1 end) * turns k i
  + (if (i =? slot_of k) && (pos f <? p) then 1 else 0).

(* The message at t in slot i's seq implies all events before this one. *)
Definition tells (i t : nat) : nat :=
  if Nat.even t then event_of i t + 1 else event_of i t - 1.

Lemma stores_none : forall i f, i < 8 -> stores 0 0 i f = 0.
Proof.
  intros i f H; unfold stores.
  replace (turns 0 i) with 0 by (unfold turns; arith).
  replace (pos f <? 0) with false by reflexivity.
  rewrite andb_false_r; destruct f; reflexivity.
Qed.

Lemma stores_seq_here : forall k p,
  stores k p (slot_of k) Seq = 2 * (k / 8) + (if 0 <? p then 1 else 0).
Proof. intros; unfold stores; rewrite turns_here, Nat.eqb_refl; reflexivity. Qed.

Lemma stores_field_here : forall k p f, f <> Seq ->
  stores k p (slot_of k) f = k / 8 + (if pos f <? p then 1 else 0).
Proof.
  intros k p f H; unfold stores; rewrite turns_here, Nat.eqb_refl.
  destruct f; try congruence; rewrite Nat.mul_1_l; reflexivity.
Qed.

(* A store to slot_of k: which counts change, and how. *)
Lemma stores_step : forall k p i f, i < 8 -> p < 6 ->
  stores k (S p) i f = stores k p i f + (if (i =? slot_of k) && (p =? pos f) then 1 else 0).
Proof.
  intros k p i f Hi Hp; unfold stores.
  destruct (i =? slot_of k); simpl; [|lia].
  destruct (Nat.ltb_spec (pos f) (S p)), (Nat.ltb_spec (pos f) p), (Nat.eqb_spec p (pos f));
    lia.
Qed.

Lemma stores_last : forall k i f, i < 8 ->
  stores (S k) 0 i f =
  stores k 6 i f + (if (i =? slot_of k) && field_eqb Seq f then 1 else 0).
Proof.
  intros k i f Hi; unfold stores; rewrite turns_S by assumption.
  replace (pos f <? 0) with false by reflexivity; rewrite andb_false_r.
  generalize (turns k i); intro n.
  destruct (i =? slot_of k); destruct f; cbn; lia.
Qed.

Lemma slot_lt : forall k, slot_of k < 8.
Proof. intro; arith. Qed.

(* ---- the invariant --------------------------------------------------------- *)

Section Invariant.

Variable ev : nat -> field -> nat.

Record memory_ok (m : memory) (w : writer) : Prop := {
  ok_pc : wpc w < 7;
  ok_length : forall i f, i < 8 -> length (m (i, f)) = S (stores (wk w) (wpc w) i f);
  ok_seq : forall i t x, i < 8 -> nth_error (m (i, Seq)) t = Some x -> val x = t;
  ok_field : forall i f n x, i < 8 -> f <> Seq ->
    nth_error (m (i, f)) (S n) = Some x -> val x = ev (8 * n + i) f;
  (* (ctp-A) a payload of write n + 1 brings its odd mark along *)
  ok_A : forall i f n x, i < 8 -> f <> Seq ->
    nth_error (m (i, f)) (S n) = Some x -> 2 * n + 1 <= carries x (i, Seq);
  (* (ctp-B) the even mark of write n + 1 brings its payload along ... *)
  ok_B : forall i f n x, i < 8 -> f <> Seq ->
    nth_error (m (i, Seq)) (2 * n + 2) = Some x -> n + 1 <= carries x (i, f);
  (* ... and the marks of the events before it *)
  ok_past : forall i t x k, i < 8 -> 0 < t ->
    nth_error (m (i, Seq)) t = Some x -> k < tells i t ->
    seq_of k <= carries x (slot_of k, Seq);
  ok_cur : forall i f, i < 8 -> stores (wk w) (wpc w) i f <= cur (wth w) (i, f);
  ok_rel_past : forall k, k < (if 2 <=? wpc w then wk w else wk w - 1) ->
    seq_of k <= rel (wth w) (slot_of k, Seq);
  ok_rel_here : 2 <= wpc w -> seq_of (wk w) - 1 <= rel (wth w) (slot_of (wk w), Seq)
}.

Lemma memory_ok0 : memory_ok memory0 writer0.
Proof.
  constructor; unfold memory0, writer0; cbn [wk wpc wth length]; intros.
  - lia.
  - rewrite stores_none by assumption; reflexivity.
  - destruct t as [|[|t]]; simpl in *; try discriminate; inversion H0; reflexivity.
  - destruct n; discriminate.
  - destruct n; discriminate.
  - replace (2 * n + 2) with (S (S (2 * n))) in H1 by lia; discriminate.
  - destruct t as [|[|t]]; simpl in *; try discriminate; lia.
  - rewrite stores_none by assumption; lia.
  - simpl in H; lia.
  - lia.
Qed.

(* The writer's own view covers every event before its own, and more. *)
Lemma cur_past : forall m w, memory_ok m w -> forall k, k < wk w ->
  seq_of k <= cur (wth w) (slot_of k, Seq).
Proof.
  intros m w OK k Hk.
  pose proof (ok_cur _ _ OK (slot_of k) Seq (slot_lt k)) as H.
  pose proof (turns_past k (wk w) Hk). unfold stores, seq_of, slots in *. lia.
Qed.

(* Only one location of slot_of k gets a new message; the rest is unchanged. *)
Lemma odd_step : forall m k th,
  memory_ok m (Writer k 0 th) ->
  forall m' th', store Relaxed (slot_of k, Seq) (seq_of k - 1) m th = (m', th') ->
  memory_ok m' (Writer k 1 th').
Proof.
  intros m k th OK m' th' E; unfold store in E; inversion E; subst; clear E.
  pose proof (ok_length _ _ OK) as Len; pose proof (ok_cur _ _ OK) as Cur;
  pose proof (ok_rel_past _ _ OK) as Rel; cbn [wk wpc wth] in *.
  assert (L : length (m (slot_of k, Seq)) = seq_of k - 1).
  { rewrite Len by apply slot_lt; rewrite stores_seq_here.
    change (0 <? 0) with false; unfold seq_of, slots; lia. }
  constructor; cbn [wk wpc wth cur rel]; intros.
  - lia.
  - rewrite append_length, Len, stores_step by lia; cbn [loc_eqb slot_locations]; unfold slot_eqb; simpl.
    rewrite (Nat.eqb_sym (slot_of k) i).
    generalize (stores k 0 i f); intro n; destruct (i =? slot_of k), f; cbn; lia.
  - apply append_nth in H0; destruct H0 as [H0|(El & Et & ->)].
    + eapply ok_seq; eauto.
    + simpl; lia.
  - apply append_nth in H1; destruct H1 as [H1|(El & Et & ->)];
      [eapply ok_field; eauto | inversion El; subst; congruence].
  - apply append_nth in H1; destruct H1 as [H1|(El & Et & ->)];
      [eapply ok_A; eauto | inversion El; subst; congruence].
  - apply append_nth in H1; destruct H1 as [H1|(El & Et & ->)];
      [eapply ok_B; eauto |]. exfalso; arith.
  - apply append_nth in H1; destruct H1 as [H1|(El & Et & ->)];
      [eapply ok_past; eauto |].
    inversion El; subst i; simpl. etransitivity; [|apply join_l]. apply Rel.
    unfold tells in H2. replace (Nat.even t) with false in H2.
    2:{ symmetry; rewrite Et, L; unfold seq_of, slots.
        replace (2 * (k / 8) + 2 - 1) with (1 + 2 * (k / 8)) by lia.
        rewrite Nat.even_add_mul_2; reflexivity. }
    rewrite Et, L in H2; change (2 <=? 0) with false; cbn iota; arith.
  - rewrite stores_step by lia. unfold join.
    specialize (Cur i f H).
    destruct ((i =? slot_of k) && (0 =? pos f)) eqn:B; [|lia].
    apply andb_true_iff in B; destruct B as [B1 B2].
    apply Nat.eqb_eq in B1; apply Nat.eqb_eq in B2; subst i.
    assert (f = Seq) by (destruct f; simpl in B2; congruence); subst f.
    rewrite at_here, Len by apply slot_lt; lia.
  - apply Rel; assumption.
  - lia.
Qed.

Lemma fence_step : forall m k th,
  memory_ok m (Writer k 1 th) -> memory_ok m (Writer k 2 (fence_release th)).
Proof.
  intros m k th OK. pose proof (cur_past _ _ OK) as Past.
  pose proof (ok_cur _ _ OK) as Cur; pose proof (ok_length _ _ OK) as Len.
  cbn [wk wpc wth] in *.
  constructor; cbn [wk wpc wth cur rel fence_release]; intros.
  - lia.
  - rewrite Len, (stores_step k 1) by lia.
    replace (1 =? pos f) with false by (destruct f; reflexivity); rewrite andb_false_r; lia.
  - eapply ok_seq; eauto.
  - eapply ok_field; eauto.
  - eapply ok_A; eauto.
  - eapply ok_B; eauto.
  - eapply ok_past; eauto.
  - rewrite (stores_step k 1) by lia; specialize (Cur i f H).
    replace (1 =? pos f) with false by (destruct f; reflexivity); rewrite andb_false_r; lia.
  - apply Past; assumption.
  - pose proof (Cur (slot_of k) Seq (slot_lt k)) as C.
    rewrite stores_seq_here in C; change (0 <? 1) with true in C.
    cbn iota in C; unfold seq_of, slots in *; lia.
Qed.

Lemma payload_step : forall m k th p f,
  memory_ok m (Writer k p th) -> p = pos f -> f <> Seq ->
  forall m' th', store Relaxed (slot_of k, f) (ev k f) m th = (m', th') ->
  memory_ok m' (Writer k (S p) th').
Proof.
  intros m k th p f OK Hp Hf m' th' E; unfold store in E; inversion E; subst m' th'; clear E.
  pose proof (ok_length _ _ OK) as Len; pose proof (ok_cur _ _ OK) as Cur;
  pose proof (ok_rel_past _ _ OK) as Rel; pose proof (ok_rel_here _ _ OK) as Here;
  cbn [wk wpc wth] in *.
  assert (Hp2 : 2 <= p < 6) by (destruct f; simpl in Hp; try congruence; lia).
  assert (L : length (m (slot_of k, f)) = S (k / 8)).
  { rewrite Len by apply slot_lt; rewrite stores_field_here, Hp, Nat.ltb_irrefl by assumption.
    lia. }
  assert (K : k = 8 * (k / 8) + slot_of k) by arith.
  constructor; cbn [wk wpc wth cur rel]; intros.
  - lia.
  - rewrite append_length, Len, (stores_step k p) by lia; cbn [loc_eqb slot_locations]; unfold slot_eqb; cbn [fst snd].
    rewrite (Nat.eqb_sym (slot_of k) i), Hp.
    generalize (stores k (pos f) i f0); intro n.
    destruct (i =? slot_of k), f, f0; cbn; try congruence; lia.
  - apply append_nth in H0; destruct H0 as [H0|(El & Et & ->)];
      [eapply ok_seq; eauto | inversion El; congruence].
  - apply append_nth in H1; destruct H1 as [H1|(El & Et & ->)]; [eapply ok_field; eauto|].
    inversion El; subst i f0; cbn [val]. rewrite L in Et; apply Nat.succ_inj in Et; subst n.
    f_equal; exact K.
  - apply append_nth in H1; destruct H1 as [H1|(El & Et & ->)]; [eapply ok_A; eauto|].
    inversion El; subst i f0; cbn [carries]. rewrite L in Et; apply Nat.succ_inj in Et; subst n.
    etransitivity; [|apply join_l]. etransitivity; [|apply Here; lia].
    unfold seq_of, slots; lia.
  - apply append_nth in H1; destruct H1 as [H1|(El & Et & ->)];
      [eapply ok_B; eauto | inversion El; congruence].
  - apply append_nth in H1; destruct H1 as [H1|(El & Et & ->)];
      [eapply ok_past; eauto | inversion El; congruence].
  - rewrite (stores_step k p) by lia. unfold join. specialize (Cur i f0 H).
    destruct ((i =? slot_of k) && (p =? pos f0)) eqn:B; [|lia].
    apply andb_true_iff in B; destruct B as [B1 B2].
    apply Nat.eqb_eq in B1; apply Nat.eqb_eq in B2; subst i.
    assert (f0 = f) by (destruct f, f0; simpl in *; congruence); subst f0.
    rewrite at_here, Len by apply slot_lt; lia.
  - apply Rel. destruct (Nat.leb_spec 2 p); destruct (Nat.leb_spec 2 (S p)); lia.
  - apply Here; lia.
Qed.

Lemma even_step : forall m k th,
  memory_ok m (Writer k 6 th) ->
  forall m' th', store Ordered (slot_of k, Seq) (seq_of k) m th = (m', th') ->
  memory_ok m' (Writer (S k) 0 th').
Proof.
  intros m k th OK m' th' E; unfold store in E; inversion E; subst m' th'; clear E.
  pose proof (ok_length _ _ OK) as Len; pose proof (ok_cur _ _ OK) as Cur;
  pose proof (ok_rel_past _ _ OK) as Rel; pose proof (cur_past _ _ OK) as Past;
  cbn [wk wpc wth] in *.
  assert (L : length (m (slot_of k, Seq)) = seq_of k).
  { rewrite Len by apply slot_lt; rewrite stores_seq_here; change (0 <? 6) with true.
    cbn iota; unfold seq_of, slots; lia. }
  constructor; cbn [wk wpc wth cur rel]; intros.
  - lia.
  - rewrite append_length, Len, stores_last by lia; cbn [loc_eqb slot_locations]; unfold slot_eqb; cbn [fst snd].
    rewrite (Nat.eqb_sym (slot_of k) i). lia.
  - apply append_nth in H0; destruct H0 as [H0|(El & Et & ->)];
      [eapply ok_seq; eauto | simpl; lia].
  - apply append_nth in H1; destruct H1 as [H1|(El & Et & ->)];
      [eapply ok_field; eauto | inversion El; subst; congruence].
  - apply append_nth in H1; destruct H1 as [H1|(El & Et & ->)];
      [eapply ok_A; eauto | inversion El; subst; congruence].
  - apply append_nth in H1; destruct H1 as [H1|(El & Et & ->)]; [eapply ok_B; eauto|].
    inversion El; subst i; cbn [carries]. etransitivity; [|apply join_l].
    etransitivity; [|apply Cur; apply slot_lt]. rewrite stores_field_here by assumption.
    replace (pos f <? 6) with true by (destruct f; reflexivity).
    unfold seq_of, slots in *; lia.
  - apply append_nth in H1; destruct H1 as [H1|(El & Et & ->)]; [eapply ok_past; eauto|].
    inversion El; subst i; cbn [carries].
    assert (Hk : k0 < S k).
    { unfold tells in H2. rewrite Et, L in H2.
      replace (Nat.even (seq_of k)) with true in H2.
      2:{ unfold seq_of, slots. replace (2 * (k / 8) + 2) with (2 * (k / 8 + 1)) by lia.
          rewrite Nat.even_mul; reflexivity. }
      arith. }
    destruct (Nat.eq_dec k0 k) as [->|].
    + etransitivity; [|apply join_r]. rewrite at_here; lia.
    + etransitivity; [|apply join_l]. apply Past; lia.
  - rewrite stores_last by lia. unfold join. specialize (Cur i f H).
    destruct ((i =? slot_of k) && field_eqb Seq f) eqn:B; [|lia].
    apply andb_true_iff in B; destruct B as [B1 B2].
    apply Nat.eqb_eq in B1; subst i. destruct f; try discriminate.
    rewrite at_here, Len by apply slot_lt; lia.
  - apply Rel; simpl in *; lia.
  - lia.
Qed.

Lemma wstep_ok : forall m w m' w',
  memory_ok m w -> wstep ev Ours m w = Some (m', w') -> memory_ok m' w'.
Proof.
  intros m [k p th] m' w' OK H. pose proof (ok_pc _ _ OK) as Hp.
  unfold wstep, wnext in H; cbn [wk wpc wth] in *.
  destruct p as [|[|[|[|[|[|[|p]]]]]]]; [..|lia];
    cbn [nth_error write] in H;
    try (destruct (store _ _ _ m th) as [m1 th1] eqn:E);
    cbn in H; inversion H; subst; clear H.
  - eapply odd_step; eauto.
  - apply fence_step; assumption.
  - eapply payload_step with (f := Time); eauto; discriminate.
  - eapply payload_step with (f := Tid); eauto; discriminate.
  - eapply payload_step with (f := Addr); eauto; discriminate.
  - eapply payload_step with (f := Act); eauto; discriminate.
  - eapply even_step; eauto.
Qed.

(* Another thread goes on, after its fence. *)
Lemma wmove_ok : forall m w w', memory_ok m w -> wmove Ours w = Some w' -> memory_ok m w'.
Proof.
  intros m w w' OK H; pose proof (cur_past _ _ OK) as Past; unfold wmove in H.
  destruct w as [k p th]; cbn [wk wpc wth] in *; destruct p; [|discriminate].
  injection H as <-; destruct OK; constructor; auto; cbn [wk wpc wth cur rel] in *.
  - intros q Q; apply Past; cbn in Q; lia.
  - lia.
Qed.

(* The writer never waits. *)
Lemma wstep_enabled : forall m w, memory_ok m w -> exists m' w', wstep ev Ours m w = Some (m', w').
Proof.
  intros m [k p th] OK; pose proof (ok_pc _ _ OK) as Hp; cbn in Hp.
  unfold wstep; cbn [wk wpc wth].
  destruct p as [|[|[|[|[|[|[|p]]]]]]]; [..|lia]; cbn [nth_error write];
    try (destruct (store _ _ _ m th)); eauto.
Qed.

End Invariant.
