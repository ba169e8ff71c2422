(* SPDX-License-Identifier: MIT *)
(* LifeSteps.v - each step of a thread keeps the invariant of LifeInv.v. *)
Require Import Arith List Lia Bool.
Require Import Memory Life LifeInv.
Import ListNotations.

Section Steps.

Variable fields : nat.
Variable o : orders.
Hypothesis orders_ok : o = fenced \/ o = multi_copy.

Notation entry_ok := (entry_ok fields o).
Notation pc_ok := (pc_ok fields).
Notation shape_ok := (shape_ok fields o).

Lemma begin_fenced : o_begin o = true.
Proof. destruct orders_ok as [-> | ->]; reflexivity. Qed.
Lemma id_released : o_id o = Ordered.
Proof. destruct orders_ok as [-> | ->]; reflexivity. Qed.
Lemma id_acquired : o_look o = Ordered.
Proof. destruct orders_ok as [-> | ->]; reflexivity. Qed.
Lemma reader_fenced : o_fence o = true.
Proof. destruct orders_ok as [-> | ->]; reflexivity. Qed.

(* ---- steps that store nothing ---------------------------------------------------- *)

Lemma frame_at_pc : forall s t h p, shape_ok s ->
  (forall x, cur (th (work s t)) x <= cur h x) ->
  (forall x, rel (th (work s t)) x <= rel h x \/ cur (th (work s t)) x <= rel h x) ->
  frame s (at_pc s t h p) t.
Proof.
  intros s t h p K C R; constructor; cbn [mem work holder lives whose at_pc].
  - intro e; exists []; rewrite app_nil_r; reflexivity.
  - intros e f; exists []; rewrite app_nil_r; split; [reflexivity|contradiction].
  - intro x; exists []; rewrite app_nil_r; reflexivity.
  - intros e f; apply (ek_whose _ _ _ _ (sh_entries _ _ _ K e)).
  - intros t' x; destruct (Nat.eq_dec t' t) as [->|N]; [rewrite upd_here; apply C|].
    rewrite upd_other by assumption; lia.
  - intros t' x; destruct (Nat.eq_dec t' t) as [->|N]; [rewrite upd_here; apply R|].
    rewrite upd_other by assumption; left; lia.
  - intros t' N; apply upd_other; assumption.
Qed.

Lemma same_at_pc : forall s t h p e, same_entry s (at_pc s t h p) e.
Proof. intros; repeat split. Qed.

Lemma keep_at_pc : forall s t h p, shape_ok s ->
  (forall x, cur (th (work s t)) x <= cur h x) ->
  (forall x, rel (th (work s t)) x <= rel h x \/ cur (th (work s t)) x <= rel h x) ->
  pc_ok s t h p -> shape_ok (at_pc s t h p).
Proof.
  intros s t h p K C R P; apply (shape_step fields o s (at_pc s t h p) t); [assumption|..].
  - apply frame_at_pc; assumption.
  - intro e; left; apply same_at_pc.
  - intros _; cbn [work at_pc]; rewrite upd_here; cbn [th pc]. destruct p; exact P.
  - intros c I; left; exact I.
Qed.

Lemma load_views : forall ord x a (m : memory) h w h', load ord x a m h = Some (w, h') ->
  (forall y, cur h y <= cur h' y) /\ (forall y, acq h y <= acq h' y) /\ rel h' = rel h.
Proof.
  intros ord x a m h w h' L; destruct (load_spec _ _ _ _ _ _ _ L) as (z & _ & _ & _ & C & A & _).
  split; [exact C|]; split; [exact A|]. unfold load in L.
  destruct (cur h x <=? a); [|discriminate]. destruct (nth_error (m x) a); [|discriminate].
  destruct ord; inversion L; reflexivity.
Qed.

Lemma keep_load : forall s t ord x a w h p, shape_ok s ->
  load ord x a (mem s) (th (work s t)) = Some (w, h) -> pc_ok s t h p -> shape_ok (at_pc s t h p).
Proof.
  intros s t ord x a w h p K L P; destruct (load_views _ _ _ _ _ _ _ L) as (C & _ & R).
  apply keep_at_pc; auto. intro y; left; rewrite R; lia.
Qed.

(* ---- a store to a field ---------------------------------------------------------- *)

Definition owns (s : state) (t e : nat) : Prop := holder s e = Held t \/ holder s e = Alive t.

Lemma owns_alone : forall s t e, owns s t e ->
  forall t', t' <> t -> dead (work s t') = false -> holder s e <> Held t' /\ holder s e <> Alive t'.
Proof. intros s t e [H|H] t' N _; rewrite H; split; congruence. Qed.

Lemma view_of_owner : forall s t e, owns s t e -> view_of s e = cur (th (work s t)).
Proof. intros s t e [H|H]; unfold view_of; rewrite H; reflexivity. Qed.

Lemma put_whose : forall s t e f v k p e' f', whose (put s t e f v k p) e' f' =
  if (e =? e') && (f =? f') then whose s e f ++ [k] else whose s e' f'.
Proof.
  intros; cbn [put whose store]; unfold upd.
  destruct (Nat.eqb_spec e e') as [<-|]; [|reflexivity].
  destruct (Nat.eqb_spec f f') as [<-|]; reflexivity.
Qed.

Lemma put_mem : forall s t e f v k p x, Field e f <> x -> mem (put s t e f v k p) x = mem s x.
Proof. intros; cbn [put mem store]; apply append_other; assumption. Qed.

Lemma put_frame : forall s t e f v k p, shape_ok s -> nr s e <= S k ->
  frame s (put s t e f v k p) t.
Proof.
  intros s t e f v k p K N.
  pose proof (fun e' f' => ek_whose _ _ _ _ (sh_entries _ _ _ K e') f') as LW.
  constructor.
  - intro e'; exists []; rewrite app_nil_r; reflexivity.
  - intros e' f'; rewrite put_whose. destruct ((e =? e') && (f =? f')) eqn:B.
    + apply andb_true_iff in B; destruct B as [B C]; apply Nat.eqb_eq in B, C; subst e' f'.
      exists [k]; split; [reflexivity|]. intros k' [<-|[]]; assumption.
    + exists []; rewrite app_nil_r; split; [reflexivity|contradiction].
  - intro x; cbn [put mem store]; unfold append.
    destruct (loc_eqb _ _); [eexists; reflexivity|exists []; rewrite app_nil_r; reflexivity].
  - intros e' f'; rewrite put_whose; destruct (place_eq_dec (Field e f) (Field e' f')) as [E|E].
    + inversion E; subst e' f'; rewrite !Nat.eqb_refl; cbn [put mem store andb].
      rewrite append_here, !app_length, LW; cbn; lia.
    + rewrite put_mem by assumption.
      replace ((e =? e') && (f =? f')) with false; [apply LW|].
      symmetry; apply andb_false_iff.
      destruct (Nat.eqb_spec e e'); [right|left; reflexivity].
      apply Nat.eqb_neq; congruence.
  - intros t' x; cbn [put work store].
    destruct (Nat.eq_dec t' t) as [->|NE]; [rewrite upd_here; apply join_l|].
    rewrite upd_other by assumption; lia.
  - intros t' x; cbn [put work store]; left.
    destruct (Nat.eq_dec t' t) as [->|NE]; [rewrite upd_here; cbn; lia|].
    rewrite upd_other by assumption; lia.
  - intros t' NE; apply upd_other; assumption.
Qed.

Lemma put_same : forall s t e f v k p e', e' <> e -> same_entry s (put s t e f v k p) e'.
Proof.
  intros s t e f v k p e' N; repeat split.
  - intro f'; rewrite put_whose; destruct (Nat.eqb_spec e e'); [congruence|reflexivity].
  - intros x E; apply put_mem; intro Q; subst x; cbn in E; congruence.
Qed.

Lemma put_entry : forall s t e f v k p, shape_ok s -> owns s t e -> nr s e <= S k ->
  (f = State /\ v = 0) \/ 2 * k <= rel (th (work s t)) (Id e) ->
  entry_ok (put s t e f v k p) e.
Proof.
  intros s t e f v k p K O N B.
  pose proof (put_frame s t e f v k p K N) as F.
  assert (LI : mem (put s t e f v k p) (Id e) = mem s (Id e)) by (apply put_mem; discriminate).
  pose proof (view_of_owner _ _ _ O) as VO.
  pose proof (sh_entries _ _ _ K e) as KE. destruct KE as [K1 K2 K3 K4 K5 K6 K7 K8].
  constructor.
  - rewrite LI; exact K1.
  - exact K2.
  - rewrite LI; exact K3.
  - intros q x; rewrite LI; intro X; destruct (K4 q x X) as [A C]; split; [exact A|].
    intros g G; eapply since_frame; eauto. unfold nr; apply nth_error_Some; congruence.
  - intro g; apply (fr_length _ _ _ F).
  - intros g j x q X W; rewrite put_whose in W.
    destruct (place_eq_dec (Field e f) (Field e g)) as [E|E].
    + inversion E; subst g; rewrite !Nat.eqb_refl in W; cbn [andb] in W.
      cbn [put mem store] in X; apply append_nth in X; destruct X as [X|(_ & EJ & ->)].
      * apply nth_more in W; destruct W as [W|[W _]]; [eauto|].
        apply nth_lt in X; rewrite K5 in X; lia.
      * rewrite K5 in EJ; injection EJ as ->.
        rewrite nth_error_app2, Nat.sub_diag in W by lia; injection W as <-.
        cbn [val carries]; destruct B as [[-> ->]|B]; [left; auto|right].
        etransitivity; [exact B|apply join_l].
    + rewrite put_mem in X by assumption.
      replace ((e =? e) && (f =? g)) with false in W; [eauto|].
      rewrite Nat.eqb_refl; symmetry; apply Nat.eqb_neq; congruence.
  - intros x E.
    assert (V : view_of (put s t e f v k p) e
                = join (cur (th (work s t))) (at_ (Field e f) (length (mem s (Field e f))))).
    { rewrite (view_of_owner _ t) by exact O; cbn [put work store]; rewrite upd_here; reflexivity. }
    rewrite V; destruct (place_eq_dec (Field e f) x) as [<-|NE].
    + cbn [put mem store]; apply covers_new; etransitivity; [|apply join_r]; rewrite at_here; lia.
    + eapply covers_same; [apply put_mem; assumption|].
      eapply covers_mono; [apply join_l|]. rewrite <- VO; auto.
  - intros t' M A; cbn [put work store].
    assert (t' = t) as -> by (destruct O as [O|O]; cbn [put holder store] in A; congruence).
    rewrite upd_here; cbn [th rel]; apply K8; assumption.
Qed.

Lemma keep_put : forall s t e f v k p, shape_ok s -> owns s t e -> nr s e <= S k ->
  (f = State /\ v = 0) \/ 2 * k <= rel (th (work s t)) (Id e) ->
  pc_ok (put s t e f v k p) t (th (work (put s t e f v k p) t)) p ->
  shape_ok (put s t e f v k p).
Proof.
  intros s t e f v k p K O N B P.
  apply (shape_step fields o s (put s t e f v k p) t); [assumption|apply put_frame; assumption|..].
  - intro e'; destruct (Nat.eq_dec e' e) as [->|NE]; [right|left; apply put_same; assumption].
    split; [apply put_entry; assumption|]. apply owns_alone; assumption.
  - intros _; revert P; cbn [put work store]; rewrite upd_here; auto.
  - intros c I; left; exact I.
Qed.

Lemma put_rel : forall s t e f v k p,
  rel (th (work (put s t e f v k p) t)) = rel (th (work s t)).
Proof. intros; cbn [put work store]; rewrite upd_here; reflexivity. Qed.

Lemma runs_put : forall s t e f v k p,
  runs s t e (th (work s t)) ->
  runs (put s t e f v k p) t e (th (work (put s t e f v k p) t)).
Proof. intros s t e f v k p [A B]; split; [exact A|]. rewrite put_rel; exact B. Qed.

(* An event stores a field. *)
Lemma keep_event_put : forall s t e f v p, shape_ok s -> runs s t e (th (work s t)) ->
  (forall s' h, runs s' t e h -> pc_ok s' t h p) -> shape_ok (put s t e f v (life s e) p).
Proof.
  intros s t e f v p K R P. apply keep_put; auto.
  - right; apply R.
  - unfold life, nr; lia.
  - right; apply R.
  - apply P, runs_put; assumption.
Qed.

(* ---- the id ------------------------------------------------------------------------ *)

Lemma since_stored : forall s e f k h, length (mem s (Field e f)) = S (length (whose s e f)) ->
  covers (mem s) (cur h) (Field e f) ->
  (exists j, length (whose s e f) = S j /\ nth_error (whose s e f) j = Some k) ->
  since s e f k (cur h).
Proof.
  intros s e f k h L C (j & J & W) t V T. unfold covers in C. rewrite L in *.
  exists j, k; repeat split; auto; lia.
Qed.

Lemma keep_name : forall s t e id s', shape_ok s -> pc (work s t) = TName e id ->
  dead (work s t) = false -> go fields o s t 0 0 0 = Some s' -> shape_ok s'.
Proof.
  intros s t e id s' K PC D G; unfold go in G; rewrite PC, id_released in G.
  cbn [store] in G; injection G as <-.
  pose proof (sh_pcs _ _ _ K t D) as P; rewrite PC in P; destruct P as (H & R & ST).
  pose proof (sh_entries _ _ _ K e) as KE; destruct KE as [K1 K2 K3 K4 K5 K6 K7 K8].
  assert (O : owns s t e) by (left; exact H).
  pose proof (view_of_owner _ _ _ O) as VO; rewrite VO in K7.
  rewrite H in K1; cbn [alive] in K1. rewrite Nat.add_0_r in K1.
  set (m := append (mem s) (Id e) _). set (h' := Thread _ _ _).
  match goal with |- shape_ok ?x => set (s' := x) end.
  assert (F : frame s s' t).
  { constructor; cbn [mem work holder lives whose s'].
    - intro e'; unfold upd; destruct (Nat.eqb_spec e e') as [<-|]; [eexists; reflexivity|].
      exists []; rewrite app_nil_r; reflexivity.
    - intros; exists []; rewrite app_nil_r; split; [reflexivity|contradiction].
    - intro x; unfold m, append; destruct (loc_eqb _ _); [eexists; reflexivity|].
      exists []; rewrite app_nil_r; reflexivity.
    - intros e' f; unfold m; rewrite append_other by discriminate.
      apply (ek_whose _ _ _ _ (sh_entries _ _ _ K e')).
    - intros t' x; destruct (Nat.eq_dec t' t) as [->|NE];
        [rewrite upd_here; apply join_l|rewrite upd_other by assumption; lia].
    - intros t' x; left; destruct (Nat.eq_dec t' t) as [->|NE];
        [rewrite upd_here; cbn; lia|rewrite upd_other by assumption; lia].
    - intros t' NE; apply upd_other; assumption. }
  assert (LL : lives s' e = lives s e ++ [id]) by (cbn [lives s']; apply upd_here).
  assert (HH : holder s' e = Alive t) by (cbn [holder s']; apply upd_here).
  assert (NN : nr s' e = S (nr s e)) by (unfold nr; rewrite LL, app_length; cbn; lia).
  assert (MF : forall g, mem s' (Field e g) = mem s (Field e g))
    by (intro g; cbn [mem s']; apply append_other; discriminate).
  apply (shape_step fields o s s' t); [assumption|assumption|..].
  - intro e'; destruct (Nat.eq_dec e' e) as [->|NE].
    + right; split; [|apply owns_alone; assumption]. constructor; rewrite ?HH, ?NN; cbn [alive].
      * cbn [mem s']; unfold m; rewrite append_here, app_length; cbn [length]; lia.
      * lia.
      * intros k x X; cbn [mem s'] in X; apply append_nth in X; destruct X as [X|(_ & E & ->)];
          [eauto|lia].
      * intros k x X; cbn [mem s'] in X; apply append_nth in X; destruct X as [X|(_ & E & ->)].
        -- destruct (K4 k x X) as [A B]; split; [rewrite LL; auto using nth_old|].
           intros f Hf; eapply since_frame; eauto. unfold nr; apply nth_error_Some; congruence.
        -- assert (k = nr s e) as -> by lia. cbn [val carries]; split.
           ++ rewrite LL; unfold nr; rewrite nth_error_app2, Nat.sub_diag by lia; reflexivity.
           ++ intros f Hf t0 V T; rewrite MF in T.
              assert (SI : since s e f (nr s e) (cur (th (work s t)))).
              { apply since_stored; [auto|apply K7; reflexivity|auto]. }
              apply SI; [|assumption]. etransitivity; [|exact V]; apply join_l.
      * intro f; apply (fr_length _ _ _ F).
      * intros f j x k; rewrite MF; apply K6.
      * intros x E. unfold view_of; rewrite HH; cbn [work s']; rewrite upd_here; cbn [th cur h'].
        destruct (place_eq_dec (Id e) x) as [<-|NE].
        -- cbn [mem s']; apply covers_new; etransitivity; [|apply join_r]; rewrite at_here; lia.
        -- eapply covers_same; [cbn [mem s']; apply append_other; assumption|].
           eapply covers_mono; [apply join_l|]; auto.
      * intros t' _ A; injection A as <-. cbn [work s']; rewrite upd_here; cbn [th rel h'].
        unfold life; rewrite LL, app_length; cbn [length]. unfold nr in R.
        replace (length (lives s e) + 1 - 1) with (length (lives s e)) by lia; assumption.
    + left; repeat split; cbn [holder lives mem s']; try (apply upd_other; assumption).
      intros x E; apply append_other; intro Q; subst x; cbn in E; congruence.
  - intros _; cbn [work s']; rewrite upd_here; exact I.
  - intros c I; left; exact I.
Qed.

Lemma keep_zero : forall s t e s', shape_ok s -> pc (work s t) = TZero e ->
  dead (work s t) = false -> go fields o s t 0 0 0 = Some s' -> shape_ok s'.
Proof.
  intros s t e s' K PC D G; unfold go in G; rewrite PC in G.
  cbn [store] in G; injection G as <-.
  pose proof (sh_pcs _ _ _ K t D) as H; rewrite PC in H; cbn in H.
  pose proof (sh_entries _ _ _ K e) as KE; destruct KE as [K1 K2 K3 K4 K5 K6 K7 K8].
  assert (O : owns s t e) by (right; exact H).
  pose proof (view_of_owner _ _ _ O) as VO; rewrite VO in K7.
  rewrite H in K1, K2; cbn [alive] in K1, K2. specialize (K2 eq_refl).
  set (m := append (mem s) (Id e) _). set (h' := Thread _ _ _).
  match goal with |- shape_ok ?x => set (s' := x) end.
  assert (F : frame s s' t).
  { constructor; cbn [mem work holder lives whose s'].
    - intro; exists []; rewrite app_nil_r; reflexivity.
    - intros; exists []; rewrite app_nil_r; split; [reflexivity|contradiction].
    - intro x; unfold m, append; destruct (loc_eqb _ _); [eexists; reflexivity|].
      exists []; rewrite app_nil_r; reflexivity.
    - intros e' f; unfold m; rewrite append_other by discriminate.
      apply (ek_whose _ _ _ _ (sh_entries _ _ _ K e')).
    - intros t' x; destruct (Nat.eq_dec t' t) as [->|NE];
        [rewrite upd_here; apply join_l|rewrite upd_other by assumption; lia].
    - intros t' x; left; destruct (Nat.eq_dec t' t) as [->|NE];
        [rewrite upd_here; cbn; lia|rewrite upd_other by assumption; lia].
    - intros t' NE; apply upd_other; assumption. }
  assert (HH : holder s' e = Held t) by (cbn [holder s']; apply upd_here).
  assert (MF : forall g, mem s' (Field e g) = mem s (Field e g))
    by (intro g; cbn [mem s']; apply append_other; discriminate).
  change (nr s' e) with (nr s e) in *.
  apply (shape_step fields o s s' t); [assumption|assumption|..].
  - intro e'; destruct (Nat.eq_dec e' e) as [->|NE].
    + right; split; [|apply owns_alone; assumption].
      constructor; rewrite ?HH; cbn [alive]; change (nr s' e) with (nr s e).
      * cbn [mem s']; unfold m; rewrite append_here, app_length; cbn [length]; lia.
      * discriminate.
      * intros k x X; cbn [mem s'] in X; apply append_nth in X; destruct X as [X|(_ & E & ->)];
          [eauto|reflexivity].
      * intros k x X; cbn [mem s'] in X; apply append_nth in X; destruct X as [X|(_ & E & ->)];
          [|lia].
        destruct (K4 k x X) as [A B]; split; [exact A|].
        intros f Hf; eapply since_frame; eauto. unfold nr; apply nth_error_Some; congruence.
      * intro f; apply (fr_length _ _ _ F).
      * intros f j x k; rewrite MF; apply K6.
      * intros x E. unfold view_of; rewrite HH; cbn [work s']; rewrite upd_here; cbn [th cur h'].
        destruct (place_eq_dec (Id e) x) as [<-|NE].
        -- cbn [mem s']; apply covers_new; etransitivity; [|apply join_r]; rewrite at_here; lia.
        -- eapply covers_same; [cbn [mem s']; apply append_other; assumption|].
           eapply covers_mono; [apply join_l|]; auto.
      * congruence.
    + left; repeat split; cbn [holder lives mem s']; try (apply upd_other; assumption).
      intros x E; apply append_other; intro Q; subst x; cbn in E; congruence.
  - intros _; cbn [work s']; rewrite upd_here; cbn [pc th]; split; [exact HH|exact K2].
  - intros c I; left; exact I.
Qed.

(* ---- a new number ---------------------------------------------------------------------- *)

Lemma keep_number : forall s t e s', shape_ok s -> pc (work s t) = TNumber e ->
  dead (work s t) = false -> go fields o s t 0 0 0 = Some s' -> shape_ok s'.
Proof.
  intros s t e s' K PC D G; unfold go in G; rewrite PC in G.
  cbn [fetch_add] in G; injection G as <-.
  pose proof (sh_pcs _ _ _ K t D) as P; rewrite PC in P.
  match goal with |- shape_ok ?x => set (s' := x) end.
  assert (MF : forall x, x <> LastId -> mem s' x = mem s x)
    by (intros x X; cbn [mem s']; apply append_other; congruence).
  apply (shape_step fields o s s' t); [assumption|..].
  - constructor; cbn [mem work holder lives whose s'].
    + intro; exists []; rewrite app_nil_r; reflexivity.
    + intros; exists []; rewrite app_nil_r; split; [reflexivity|contradiction].
    + intro x; unfold append; destruct (loc_eqb _ _); [eexists; reflexivity|].
      exists []; rewrite app_nil_r; reflexivity.
    + intros e' f; rewrite append_other by discriminate.
      apply (ek_whose _ _ _ _ (sh_entries _ _ _ K e')).
    + intros t' x; destruct (Nat.eq_dec t' t) as [->|NE];
        [rewrite upd_here; apply join_l|rewrite upd_other by assumption; lia].
    + intros t' x; left; destruct (Nat.eq_dec t' t) as [->|NE];
        [rewrite upd_here; cbn; lia|rewrite upd_other by assumption; lia].
    + intros t' NE; apply upd_other; assumption.
  - intro e'; left; repeat split. intros x E; apply MF; intro Q; subst x; discriminate.
  - intros _; cbn [work s']; rewrite upd_here; exact P.
  - intros c I; left; exact I.
Qed.

End Steps.
