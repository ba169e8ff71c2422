(* SPDX-License-Identifier: MIT *)
(*
   ReuseInv.v - what the steps of Reuse.v keep, and the theorems about lanes that are used again.

   A lane has one holder at any time, whose view covers it: the pool, a thread, or, once its
   thread has left it or is dead, the collector.  The state of a lane is 0, 1, 2 since the collector
   marked it free, and its head is 0, 1, 2, ... since it was reset: the collector, which stored
   the 0 of the state, cannot find an older state, and with a state that is not 0 it
   cannot find an older head.
*)
Require Import Arith List Lia Bool.
Require Import Memory Reuse.
Import ListNotations.

Lemma upd_here : forall A (g : nat -> A) n x, upd g n x n = x.
Proof. intros; unfold upd; rewrite Nat.eqb_refl; reflexivity. Qed.

Lemma upd_other : forall A (g : nat -> A) n n' x, n' <> n -> upd g n x n' = g n'.
Proof. intros; unfold upd; destruct (Nat.eqb_spec n n'); congruence. Qed.

Definition unit_of (x : place) : nat := match x with State e | Head e | Rec e _ => e end.

Definition all_seen (m : memory) (e : nat) (v : view) : Prop :=
  forall x, unit_of x = e -> covers m v x.

Definition in_use (h : hold) : bool := match h with Opened _ | Left _ => true | _ => false end.

Definition ended (w : nat -> worker) (h : hold) : Prop :=
  match h with Opened t => dead (w t) = true | Left _ => True | _ => False end.

Definition owner_sees (m : memory) (w : nat -> worker) (h : hold) (e : nat) : Prop :=
  match h with
  | Fresh => all_seen m e bottom
  | Pooled v => all_seen m e v
  | Taken t | Opened t => all_seen m e (cur (th (w t)))
  | Left _ => True
  end.

Record unit_ok (m : memory) (w : nat -> worker) (h : hold) (lg : list nat) (b hb : nat) (kv : view)
  (u : cursor) (e : nat) : Prop := {
  u_len : length (m (State e)) = S b + match h with Opened _ => 1 | Left _ => 2 | _ => 0 end;
  u_val : forall t x, nth_error (m (State e)) t = Some x -> b <= t -> val x = t - b;
  u_open : forall t x, nth_error (m (State e)) t = Some x -> b < t -> hb <= carries x (Head e);
  u_shut : forall x, nth_error (m (State e)) (S (S b)) = Some x -> all_seen m e (carries x);
  u_head : in_use h = true -> length (m (Head e)) = S hb + length lg;
  u_hval : in_use h = true -> forall t x, nth_error (m (Head e)) t = Some x -> hb <= t -> val x = t - hb;
  u_hcov : in_use h = true -> forall t x j, nth_error (m (Head e)) t = Some x -> j < t - hb ->
    covers m (carries x) (Rec e j);
  u_recs : forall j v, nth_error lg j = Some v -> newest m (Rec e j) = v;
  u_empty : in_use h = false -> lg = [];
  u_owner : owner_sees m w h e;
  u_state : b <= kv (State e);
  u_new : seen u = false -> head u = 0 /\ got u = [] /\ orphan u = false;
  u_seen : seen u = true -> in_use h = true /\ hb + head u <= kv (Head e);
  u_read : (exists rest, lg = got u ++ rest) /\ length (got u) <= head u <= length lg;
  u_cov : forall j, j < head u -> covers m kv (Rec e j);
  u_orphan : orphan u = true -> ended w h /\ all_seen m e kv /\ head u = length lg;
  u_heard : heard u = true -> in_use h = true /\ ended w h /\ all_seen m e kv
}.

Definition unit_in (s : state) (e : nat) : Prop :=
  unit_ok (mem s) (work s) (holder s e) (log s e) (base s e) (hbase s e) (cur (cth (con s)))
          (lane (con s) e) e.

Definition pc_ok (s : state) (t : nat) (p : tpc) : Prop :=
  match p with
  | TIdle => True
  | TReset e => holder s e = Taken t
  | TOpen e => holder s e = Taken t /\ length (mem s (Head e)) = S (hbase s e)
               /\ newest (mem s) (Head e) = 0
  | TIn e | TPut e _ => holder s e = Opened t
  | TPub e v => holder s e = Opened t /\ newest (mem s) (Rec e (length (log s e))) = v
  end.

Definition doing_ok (s : state) : Prop :=
  match doing (con s) with
  | CIdle => True
  | CHead e l => seen (lane (con s) e) = true
      /\ (l = true -> ended (work s) (holder s e) /\ all_seen (mem s) e (cur (cth (con s))))
  end.

Record inv (s : state) : Prop := {
  i_units : forall e, unit_in s e;
  i_pcs : forall t, dead (work s t) = false -> pc_ok s t (pc (work s t));
  i_doing : doing_ok s;
  i_corrupt : corrupt (con s) = 0;
  i_past : forall e a b, In (a, b) (past s e) -> a = b
}.

(* ---- memory ----------------------------------------------------------------------- *)

Lemma store_facts : forall o x v (m : memory) h m' h', store o x v m h = (m', h') ->
  exists y, m' = append m x y /\ val y = v
    /\ (forall z, cur h z <= cur h' z)
    /\ (forall z, covers m (cur h) z -> covers m' (cur h') z)
    /\ (o = Ordered -> forall z, cur h z <= carries y z)
    /\ (o = Ordered -> forall z, covers m (cur h) z -> covers m' (carries y) z).
Proof.
  intros o x v m h m' h' E; unfold store in E; inversion E; subst; clear E.
  assert (NEW : forall w z, (forall z, cur h z <= w z) -> length (m x) <= w x ->
    covers m (cur h) z -> covers (append m x (Msg v (join (match o with Relaxed => rel h
      | Ordered => cur h end) (at_ x (length (m x)))))) w z).
  { intros w z W L C; destruct (place_eqb_spec x z) as [->|N].
    - apply covers_new; assumption.
    - eapply covers_same; [apply append_other; assumption|]. eapply covers_mono; [apply W|]; assumption. }
  eexists; split; [reflexivity|]; cbn; repeat split.
  - intro; apply join_l.
  - intros z C; apply NEW; [intro; apply join_l| |assumption]. unfold join; rewrite at_here; lia.
  - intros -> z; apply join_l.
  - intros -> z C; apply NEW; [intro; apply join_l| |assumption]. unfold join; rewrite at_here; lia.
Qed.

Lemma load_cur : forall o x t (m : memory) h v h', load o x t m h = Some (v, h') ->
  forall z, cur h z <= cur h' z.
Proof. intros o x t m h v h' H; apply load_spec in H; destruct H as (y & H); apply H. Qed.

Lemma seen_mono : forall m e v v', (forall x, v x <= v' x) -> all_seen m e v -> all_seen m e v'.
Proof. intros m e v v' V A x X; eapply covers_mono; [apply V|]; auto. Qed.

Lemma seen_same : forall (m m' : memory) e v, (forall x, unit_of x = e -> m' x = m x) ->
  all_seen m e v -> all_seen m' e v.
Proof. intros m m' e v E A x X; eapply covers_same; [apply E; assumption|]; auto. Qed.

(* Nothing of this lane changes. *)
Lemma unit_same : forall m m' w w' h lg b hb kv kv' u e, unit_ok m w h lg b hb kv u e ->
  (forall x, unit_of x = e -> m' x = m x) -> (forall t x, cur (th (w t)) x <= cur (th (w' t)) x) ->
  (forall t, dead (w t) = true -> dead (w' t) = true) -> (forall x, kv x <= kv' x) ->
  unit_ok m' w' h lg b hb kv' u e.
Proof.
  intros m m' w w' h lg b hb kv kv' u e K E C D V.
  assert (EN : ended w h -> ended w' h) by (destruct h; cbn; auto).
  assert (AS : forall v, all_seen m e v -> all_seen m' e v) by (intros; eapply seen_same; eauto).
  destruct K; constructor; rewrite ?(E (State e) eq_refl), ?(E (Head e) eq_refl); auto.
  - intros U t x j N J; eapply covers_same; [apply E; reflexivity|]; eauto.
  - intros j v N; rewrite <- (u_recs0 j v N); apply newest_same, E; reflexivity.
  - unfold owner_sees in *; destruct h; auto; apply AS; (eapply seen_mono; [apply C|]); assumption.
  - specialize (V (State e)); lia.
  - intro S; destruct (u_seen0 S); split; [assumption|]. specialize (V (Head e)); lia.
  - intros j J; eapply covers_same; [apply E; reflexivity|]. eapply covers_mono; [apply V|]; auto.
  - intro O; destruct (u_orphan0 O) as (A1 & A2 & A3); repeat split; auto.
    apply AS; eapply seen_mono; eauto.
  - intro O; destruct (u_heard0 O) as (A1 & A2 & A3); repeat split; auto.
    apply AS; eapply seen_mono; eauto.
Qed.

(* ---- threads ------------------------------------------------------------------------ *)

(* Thread t makes a step in lane e, which no other thread that lives has. *)
Lemma thread_step : forall s s' t e, inv s -> dead (work s t) = false ->
  (forall t', t' <> t -> work s' t' = work s t') ->
  (forall x, cur (th (work s t)) x <= cur (th (work s' t)) x) ->
  (forall x, unit_of x <> e -> mem s' x = mem s x) ->
  (forall e', e' <> e -> holder s' e' = holder s e' /\ log s' e' = log s e' /\ base s' e' = base s e'
     /\ hbase s' e' = hbase s e') ->
  con s' = con s -> past s' = past s ->
  (forall t', t' <> t -> holder s e <> Taken t' /\ holder s e <> Opened t') ->
  ~ ended (work s) (holder s e) ->
  unit_in s' e -> (dead (work s' t) = false -> pc_ok s' t (pc (work s' t))) -> inv s'.
Proof.
  intros s s' t e I D W C M O K P X NE U PC.
  assert (CM : forall t' x, cur (th (work s t')) x <= cur (th (work s' t')) x).
  { intros t' x; destruct (Nat.eq_dec t' t) as [->|N]; [apply C|rewrite W by assumption; lia]. }
  assert (DM : forall t', dead (work s t') = true -> dead (work s' t') = true).
  { intros t' Z; destruct (Nat.eq_dec t' t) as [->|N]; [congruence|rewrite W by assumption; assumption]. }
  constructor.
  - intro e'; destruct (Nat.eq_dec e' e) as [->|N]; [assumption|]. destruct (O e' N) as (O1 & O2 & O3 & O4).
    unfold unit_in; rewrite O1, O2, O3, O4, K. eapply unit_same; [apply (i_units _ I)|..]; auto.
    intros x Z; apply M; congruence.
  - intros t' D'; destruct (Nat.eq_dec t' t) as [->|N]; [auto|]. rewrite W in * by assumption.
    pose proof (i_pcs _ I t' D') as Q. destruct (X t' N) as [X1 X2].
    assert (Y : forall e', holder s e' = Taken t' \/ holder s e' = Opened t' -> e' <> e)
      by (intros e' [Z|Z] ->; congruence).
    destruct (pc (work s t')) as [|e'|e'|e'|e' v|e' v]; cbn in *; auto.
    + destruct (O e' (Y e' (or_introl Q))) as (-> & _); assumption.
    + destruct Q as (Q1 & Q2 & Q3); pose proof (Y e' (or_introl Q1)) as N'.
      destruct (O e' N') as (-> & _ & _ & ->). rewrite M by assumption.
      rewrite (newest_same (mem s)) by (apply M; assumption). auto.
    + destruct (O e' (Y e' (or_intror Q))) as (-> & _); assumption.
    + destruct (O e' (Y e' (or_intror Q))) as (-> & _); assumption.
    + destruct Q as (Q1 & Q2); pose proof (Y e' (or_intror Q1)) as N'.
      destruct (O e' N') as (-> & -> & _). rewrite (newest_same (mem s)) by (apply M; assumption). auto.
  - pose proof (i_doing _ I) as Q; unfold doing_ok in *; rewrite K; destruct (doing (con s)) as [|e' l]; [exact Q|].
    destruct Q as [Q1 Q2]; split; [assumption|]. intro L; destruct (Q2 L) as [Q3 Q4].
    assert (N : e' <> e) by (intros ->; contradiction). destruct (O e' N) as (-> & _). split.
    + destruct (holder s e'); cbn in *; auto.
    + eapply seen_same; [|exact Q4]. intros x Z; apply M; congruence.
  - rewrite K; apply (i_corrupt _ I).
  - rewrite P; apply (i_past _ I).
Qed.

Lemma not_orphan : forall s e, inv s -> ~ ended (work s) (holder s e) ->
  orphan (lane (con s) e) = false /\ heard (lane (con s) e) = false.
Proof.
  intros s e I N; pose proof (i_units _ I e) as U; split.
  - destruct (orphan (lane (con s) e)) eqn:O; [|reflexivity]. destruct (u_orphan _ _ _ _ _ _ _ _ _ U O); contradiction.
  - destruct (heard (lane (con s) e)) eqn:O; [|reflexivity]. destruct (u_heard _ _ _ _ _ _ _ _ _ U O) as (_ & Z & _); contradiction.
Qed.

Lemma not_used : forall s e, inv s -> in_use (holder s e) = false -> seen (lane (con s) e) = false.
Proof.
  intros s e I N; destruct (seen (lane (con s) e)) eqn:S; [|reflexivity].
  destruct (u_seen _ _ _ _ _ _ _ _ _ (i_units _ I e) S); congruence.
Qed.

Lemma take_inv : forall s t e h, inv s -> dead (work s t) = false ->
  (forall x, cur (th (work s t)) x <= cur h x) ->
  (holder s e = Fresh \/ exists v, holder s e = Pooled v /\ forall x, v x <= cur h x) ->
  inv (St (mem s) (upd (work s) t (Worker h (TReset e) false)) (upd (holder s) e (Taken t))
          (log s) (base s) (hbase s) (past s) (con s)).
Proof.
  intros s t e h I D C H.
  assert (NU : in_use (holder s e) = false) by (destruct H as [->|(v & -> & _)]; reflexivity).
  assert (NE : ~ ended (work s) (holder s e)) by (destruct H as [->|(v & -> & _)]; cbn; auto).
  eapply thread_step with (t := t) (e := e); eauto; cbn; auto.
  - intros; apply upd_other; assumption.
  - intro x; rewrite upd_here; apply C.
  - intros e' N; rewrite upd_other by assumption; auto.
  - intros t' N; destruct H as [->|(v & -> & _)]; split; discriminate.
  - unfold unit_in; cbn; rewrite upd_here. pose proof (i_units _ I e) as U.
    pose proof (not_used _ _ I NU) as NS. destruct (not_orphan _ _ I NE) as [NO NH].
    destruct U; constructor; auto; try discriminate; try congruence.
    + rewrite u_len0; destruct H as [->|(v & -> & _)]; reflexivity.
    + cbn; rewrite upd_here; cbn. destruct H as [H|(v & H & V)]; rewrite H in *; cbn in u_owner0.
      * eapply seen_mono; [|exact u_owner0]; intro; unfold bottom; lia.
      * eapply seen_mono; [exact V|exact u_owner0].
  - intros _; rewrite upd_here; cbn; apply upd_here.
Qed.

Lemma alive_holder : forall s t e t', holder s e = Taken t \/ holder s e = Opened t -> t' <> t ->
  holder s e <> Taken t' /\ holder s e <> Opened t'.
Proof. intros s t e t' [H|H] N; rewrite H; split; congruence. Qed.

Lemma go_inv : forall s t s', inv s -> dead (work s t) = false -> go ours s t = Some s' -> inv s'.
Proof.
  intros s t s' I D G; unfold go in G; pose proof (i_pcs _ I t D) as P.
  destruct (pc (work s t)) as [|e|e|e|e v|e v] eqn:E; try discriminate; cbn [r_reset r_open ours] in G; cbn in P.
  - (* TReset *)
    destruct (store _ _ _ _ _) as [m h'] eqn:ST; injection G as <-.
    destruct (store_facts _ _ _ _ _ _ _ ST) as (y & -> & VY & MO & CO & _).
    assert (NE : ~ ended (work s) (holder s e)) by (rewrite P; cbn; auto).
    pose proof (i_units _ I e) as U; destruct (not_orphan _ _ I NE) as [NO NH].
    assert (NS : seen (lane (con s) e) = false) by (apply not_used; [assumption|rewrite P; reflexivity]).
    eapply thread_step with (t := t) (e := e); eauto; cbn; auto.
    + intros; apply upd_other; assumption.
    + intro x; rewrite upd_here; apply MO.
    + intros x X; apply append_other; intros <-; apply X; reflexivity.
    + intros e' N; rewrite upd_other by assumption; auto.
    + intros t' N; eapply alive_holder; eauto.
    + unfold unit_in in U |- *; cbn; rewrite P in U; rewrite upd_here, ?P.
      destruct U; constructor; rewrite ?append_other by discriminate; auto; try discriminate; try congruence.
      * intros t0 x N L; apply nth_lt in N; rewrite u_len0 in N; lia.
      * intros x N; apply nth_lt in N; rewrite u_len0 in N; lia.
      * cbn; rewrite upd_here; cbn. intros x X; apply CO; apply u_owner0; assumption.
    + intros _; rewrite upd_here; cbn; rewrite upd_here; repeat split; auto.
      * rewrite append_here, app_length; cbn; lia.
      * rewrite newest_append; assumption.
  - (* TOpen *)
    destruct P as (P & HL & HN).
    destruct (store _ _ _ _ _) as [m h'] eqn:ST; injection G as <-.
    destruct (store_facts _ _ _ _ _ _ _ ST) as (y & -> & VY & MO & CO & CU & CC).
    specialize (CU eq_refl); specialize (CC eq_refl).
    assert (NE : ~ ended (work s) (holder s e)) by (rewrite P; cbn; auto).
    pose proof (i_units _ I e) as U; destruct (not_orphan _ _ I NE) as [NO NH].
    assert (NS : seen (lane (con s) e) = false) by (apply not_used; [assumption|rewrite P; reflexivity]).
    eapply thread_step with (t := t) (e := e); eauto; cbn; auto.
    + intros; apply upd_other; assumption.
    + intro x; rewrite upd_here; apply MO.
    + intros x X; apply append_other; intros <-; apply X; reflexivity.
    + intros e' N; rewrite upd_other by assumption; auto.
    + intros t' N; eapply alive_holder; eauto.
    + unfold unit_in in U |- *; cbn; rewrite P in U; rewrite upd_here, ?P.
      destruct U; pose proof (u_empty0 eq_refl) as LE; rewrite LE in *.
      constructor; rewrite ?append_other by discriminate; auto; try discriminate; try congruence.
      * rewrite append_here, app_length, u_len0; cbn; lia.
      * intros t0 x N L; apply append_nth in N; destruct N as [N|(_ & -> & ->)]; [eauto|]. rewrite VY, u_len0; lia.
      * intros t0 x N L; apply append_nth in N; destruct N as [N|(_ & -> & ->)].
        -- apply nth_lt in N; rewrite u_len0 in N; lia.
        -- etransitivity; [|apply CU]. cbn in u_owner0. specialize (u_owner0 (Head e) eq_refl); unfold covers in u_owner0; lia.
      * intros x N; apply append_nth in N; destruct N as [N|(_ & L & ->)];
          [apply nth_lt in N; rewrite u_len0 in N; lia|rewrite u_len0 in L; lia].
      * intros _; rewrite HL; cbn; lia.
      * intros _ t0 x N L. pose proof (nth_lt _ _ _ N) as Z; rewrite HL in Z.
        replace t0 with (length (mem s (Head e)) - 1) in N by lia. rewrite nth_newest in N by lia.
        injection N as <-; unfold newest in HN; lia.
      * intros _ t0 x j N L; pose proof (nth_lt _ _ _ N) as Z; rewrite HL in Z; lia.
      * cbn; rewrite upd_here; cbn. intros x X; apply CO; apply u_owner0; assumption.
    + intros _; rewrite upd_here; cbn; apply upd_here.
  - (* TPut *)
    destruct (store _ _ _ _ _) as [m h'] eqn:ST; injection G as <-.
    destruct (store_facts _ _ _ _ _ _ _ ST) as (y & -> & VY & MO & CO & _).
    assert (NE : ~ ended (work s) (holder s e)) by (rewrite P; cbn; congruence).
    pose proof (i_units _ I e) as U; destruct (not_orphan _ _ I NE) as [NO NH].
    eapply thread_step with (t := t) (e := e); eauto; cbn; auto.
    + intros; apply upd_other; assumption.
    + intro x; rewrite upd_here; apply MO.
    + intros x X; apply append_other; intros <-; apply X; reflexivity.
    + intros t' N; eapply alive_holder; eauto.
    + unfold unit_in in U |- *; cbn; rewrite P in U |- *. pose proof (u_read _ _ _ _ _ _ _ _ _ U) as (_ & RB).
      destruct U; constructor; rewrite ?append_other by discriminate; auto; try discriminate; try congruence.
      * intros x N; apply nth_lt in N; rewrite u_len0 in N; lia.
      * intros UU t0 x j N J. pose proof (nth_lt _ _ _ N) as Z; rewrite (u_head0 eq_refl) in Z.
        eapply covers_same; [apply append_other; intro Q; injection Q; lia|]; eauto.
      * intros j v0 N. assert (j < length (log s e)) by (apply nth_error_Some; congruence).
        rewrite newest_other by (intro Q; injection Q; lia); auto.
      * cbn; rewrite upd_here; cbn. intros x X; apply CO; apply u_owner0; assumption.
      * intros j J; eapply covers_same; [apply append_other; intro Q; injection Q; lia|]; auto.
    + intros _; rewrite upd_here; cbn; split; [assumption|]. rewrite newest_append; assumption.
  - (* TPub *)
    destruct P as (P & PV).
    destruct (store _ _ _ _ _) as [m h'] eqn:ST; injection G as <-.
    destruct (store_facts _ _ _ _ _ _ _ ST) as (y & -> & VY & MO & CO & CU & CC).
    specialize (CU eq_refl); specialize (CC eq_refl).
    assert (NE : ~ ended (work s) (holder s e)) by (rewrite P; cbn; congruence).
    pose proof (i_units _ I e) as U; destruct (not_orphan _ _ I NE) as [NO NH].
    eapply thread_step with (t := t) (e := e); eauto; cbn; auto.
    + intros; apply upd_other; assumption.
    + intro x; rewrite upd_here; apply MO.
    + intros x X; apply append_other; intros <-; apply X; reflexivity.
    + intros e' N; rewrite upd_other by assumption; auto.
    + intros t' N; eapply alive_holder; eauto.
    + unfold unit_in in U |- *; cbn; rewrite P in U; rewrite upd_here, ?P. pose proof (u_read _ _ _ _ _ _ _ _ _ U) as (RR & RB).
      destruct U; pose proof (u_head0 eq_refl) as HL.
      constructor; rewrite ?append_other by discriminate; auto; try discriminate; try congruence.
      * intros x N; apply nth_lt in N; rewrite u_len0 in N; lia.
      * intros _; rewrite append_here, !app_length, HL; cbn; lia.
      * intros _ t0 x N L; apply append_nth in N; destruct N as [N|(_ & -> & ->)]; [eauto|]. rewrite VY, HL; lia.
      * intros _ t0 x j N J; apply append_nth in N; destruct N as [N|(_ & -> & ->)].
        -- eapply covers_same; [apply append_other; discriminate|]; eauto.
        -- apply CC, u_owner0; reflexivity.
      * intros j v0 N. rewrite newest_other by discriminate.
        destruct (Nat.lt_ge_cases j (length (log s e))) as [L|L].
        -- rewrite nth_error_app1 in N by assumption; auto.
        -- rewrite nth_error_app2 in N by assumption. destruct (j - length (log s e)) as [|d] eqn:Q.
           ++ injection N as <-. replace j with (length (log s e)) by lia; assumption.
           ++ destruct d; discriminate.
      * cbn; rewrite upd_here; cbn. intros x X; apply CO; apply u_owner0; assumption.
      * destruct RR as (rest & RR); split; [exists (rest ++ [v]); rewrite RR, app_assoc; reflexivity|].
        rewrite app_length; cbn; lia.
    + intros _; rewrite upd_here; cbn; assumption.
Qed.

Lemma leave_inv : forall s t s', inv s -> dead (work s t) = false -> leave s t = Some s' -> inv s'.
Proof.
  intros s t s' I D G; unfold leave in G; pose proof (i_pcs _ I t D) as P.
  destruct (pc (work s t)) as [|e|e|e|e v|e v] eqn:E; try discriminate; cbn in P.
  destruct (store _ _ _ _ _) as [m h'] eqn:ST; injection G as <-.
  destruct (store_facts _ _ _ _ _ _ _ ST) as (y & -> & VY & MO & CO & CU & CC).
  specialize (CU eq_refl); specialize (CC eq_refl).
  assert (NE : ~ ended (work s) (holder s e)) by (rewrite P; cbn; congruence).
  pose proof (i_units _ I e) as U; destruct (not_orphan _ _ I NE) as [NO NH].
  eapply thread_step with (t := t) (e := e); eauto; cbn; auto.
  - intros; apply upd_other; assumption.
  - intro x; rewrite upd_here; apply MO.
  - intros x X; apply append_other; intros <-; apply X; reflexivity.
  - intros e' N; rewrite upd_other by assumption; auto.
  - intros t' N; eapply alive_holder; eauto.
  - unfold unit_in in U |- *; cbn; rewrite P in U; rewrite upd_here, ?P.
    destruct U; pose proof (u_head0 eq_refl) as HL; cbn in u_owner0.
    constructor; rewrite ?append_other by discriminate; auto; try discriminate; try congruence.
    + rewrite append_here, app_length, u_len0; cbn; lia.
    + intros t0 x N L; apply append_nth in N; destruct N as [N|(_ & -> & ->)]; [eauto|]. rewrite VY, u_len0; lia.
    + intros t0 x N L; apply append_nth in N; destruct N as [N|(_ & -> & ->)]; [eauto|].
      etransitivity; [|apply CU]. specialize (u_owner0 (Head e) eq_refl); unfold covers in u_owner0; lia.
    + intros x N; apply append_nth in N; destruct N as [N|(_ & _ & ->)];
        [apply nth_lt in N; rewrite u_len0 in N; lia|]. intros z Z; apply CC, u_owner0; assumption.
    + exact Logic.I.
  - intros _; rewrite upd_here; exact Logic.I.
Qed.

Lemma event_inv : forall s t v s', inv s -> dead (work s t) = false -> event s t v = Some s' -> inv s'.
Proof.
  intros s t v s' I D G; unfold event in G; pose proof (i_pcs _ I t D) as P.
  destruct (pc (work s t)) as [|e|e|e|e v0|e v0] eqn:E; try discriminate; cbn in P; injection G as <-.
  assert (NE : ~ ended (work s) (holder s e)) by (rewrite P; cbn; congruence).
  eapply thread_step with (t := t) (e := e); eauto; cbn; auto.
  - intros; apply upd_other; assumption.
  - intro x; rewrite upd_here; cbn; lia.
  - intros t' N; eapply alive_holder; eauto.
  - unfold unit_in; cbn; eapply unit_same; [apply (i_units _ I e)|..]; auto.
    + intros t' x; destruct (Nat.eq_dec t' t) as [->|N]; [rewrite upd_here|rewrite upd_other by assumption]; cbn; lia.
    + intros t' Z; destruct (Nat.eq_dec t' t) as [->|N]; [congruence|rewrite upd_other by assumption; assumption].
  - intros _; rewrite upd_here; assumption.
Qed.

Lemma die_inv : forall s t, inv s -> inv (die s t).
Proof.
  intros s t I; destruct I as [IU IP ID IC IA].
  assert (CM : forall t' x, cur (th (work s t')) x <= cur (th (work (die s t) t')) x).
  { intros t' x; cbn; destruct (Nat.eq_dec t' t) as [->|N]; [rewrite upd_here|rewrite upd_other by assumption]; cbn; lia. }
  assert (DM : forall t', dead (work s t') = true -> dead (work (die s t) t') = true).
  { intros t' Z; cbn; destruct (Nat.eq_dec t' t) as [->|N]; [rewrite upd_here; reflexivity|rewrite upd_other by assumption; assumption]. }
  constructor; auto.
  - intro e; eapply unit_same; [apply IU|..]; auto.
  - intros t' D; destruct (Nat.eq_dec t' t) as [->|N]; cbn in D |- *; [rewrite upd_here in D; discriminate|].
    rewrite upd_other in D |- * by assumption. specialize (IP t' D). destruct (pc (work s t')); exact IP.
  - unfold doing_ok in *; cbn; destruct (doing (con s)) as [|e l]; [exact ID|]. destruct ID as [A B].
    split; [assumption|]. intro L; destruct (B L) as [B1 B2]; split; [|assumption].
    destruct (holder s e); cbn in *; auto; apply DM; assumption.
Qed.

(* ---- the collector --------------------------------------------------------------------- *)

(* The collector looks at a lane; nothing is stored. *)
Lemma con_step : forall s k e, inv s -> (forall x, cur (cth (con s)) x <= cur (cth k) x) ->
  (forall e', e' <> e -> lane k e' = lane (con s) e') -> corrupt k = 0 ->
  unit_in (with_con s k) e -> doing_ok (with_con s k) -> inv (with_con s k).
Proof.
  intros s k e [IU IP ID IC IA] V L C U D; constructor; auto.
  - intro e'; destruct (Nat.eq_dec e' e) as [->|N]; [assumption|].
    unfold unit_in; cbn; rewrite L by assumption. eapply unit_same; [apply IU|..]; auto.
Qed.

Lemma unit_more : forall s e v', inv s -> (forall x, cur (cth (con s)) x <= v' x) ->
  unit_ok (mem s) (work s) (holder s e) (log s e) (base s e) (hbase s e) v' (lane (con s) e) e.
Proof. intros s e v' I V; eapply unit_same; [apply (i_units _ I e)|..]; auto. Qed.

Lemma mourn_inv : forall s e s', inv s -> mourn s e = Some s' -> inv s'.
Proof.
  intros s e s' I G; unfold mourn in G.
  destruct (holder s e) as [|v|t|t|t] eqn:H; try discriminate.
  destruct (doing (con s)) eqn:DO; [|discriminate].
  destruct (dead (work s t)) eqn:D; [|discriminate]. injection G as <-.
  apply con_step with e; auto.
  - intro; cbn; apply join_l.
  - intros e' N; cbn; apply upd_other; assumption.
  - apply (i_corrupt _ I).
  - unfold unit_in; cbn [con with_con update cth lane mem work holder log base hbase cur acquire]; rewrite upd_here.
    pose proof (unit_more s e (join (cur (cth (con s))) (cur (th (work s t)))) I ltac:(intro; apply join_l)) as U.
    rewrite H in *; destruct U; constructor; auto.
    intros _; repeat split; auto. cbn in u_owner0. eapply seen_mono; [|exact u_owner0]; intro; apply join_r.
  - exact Logic.I.
Qed.

Lemma look_inv : forall s e a s', inv s -> look ours s e a = Some s' -> inv s'.
Proof.
  intros s e a s' I G; unfold look in G; cbn [r_look ours] in G.
  destruct (doing (con s)) eqn:DO; [|discriminate].
  destruct (load _ _ _ _ _) as [[v h]|] eqn:L; [|discriminate].
  pose proof (load_cur _ _ _ _ _ _ _ L) as V.
  destruct (load_spec _ _ _ _ _ _ _ L) as (x & N & -> & LE & _ & _ & _ & _ & CA); specialize (CA eq_refl).
  pose proof (unit_more s e _ I V) as U; pose proof (i_units _ I e) as U0.
  pose proof (u_state _ _ _ _ _ _ _ _ _ U0) as US.
  assert (LB : base s e <= a) by lia.
  pose proof (u_val _ _ _ _ _ _ _ _ _ U0 _ _ N LB) as VA.
  destruct (Nat.eqb_spec (val x) 0) as [Z|Z]; injection G as <-.
  - apply con_step with e; auto.
    + apply (i_corrupt _ I).
    + exact Logic.I.
  - assert (LT : base s e < a) by lia.
    pose proof (nth_lt _ _ _ N) as AL; rewrite (u_len _ _ _ _ _ _ _ _ _ U0) in AL.
    assert (IU : in_use (holder s e) = true) by (destruct (holder s e); cbn; auto; lia).
    assert (LAST : (val x =? 2) || heard (lane (con s) e) = true ->
      ended (work s) (holder s e) /\ all_seen (mem s) e (cur h)).
    { intro O; apply orb_true_iff in O; destruct O as [O|O].
      - apply Nat.eqb_eq in O. assert (EA : a = S (S (base s e))) by lia. rewrite EA in N. split.
        + destruct (holder s e); cbn; auto; lia.
        + eapply seen_mono; [exact CA|]. apply (u_shut _ _ _ _ _ _ _ _ _ U0); assumption.
      - apply (u_heard _ _ _ _ _ _ _ _ _ U O). }
    apply con_step with e; auto.
    + intros e' NE; cbn; apply upd_other; assumption.
    + apply (i_corrupt _ I).
    + unfold unit_in; cbn; rewrite upd_here. pose proof (u_open _ _ _ _ _ _ _ _ _ U0 _ _ N LT) as HB.
      destruct U; constructor; cbn; auto; try discriminate.
      intros _; split; [assumption|]. destruct (seen (lane (con s) e)) eqn:S; [apply u_seen0; reflexivity|].
      destruct (u_new0 eq_refl) as (-> & _). specialize (CA (Head e)); lia.
    + unfold doing_ok; cbn; rewrite upd_here; cbn; auto.
Qed.

Lemma continue_inv : forall s a s', inv s -> continue s a = Some s' -> inv s'.
Proof.
  intros s a s' I G; unfold continue in G; pose proof (i_doing _ I) as DO; unfold doing_ok in DO.
  destruct (doing (con s)) as [|e l] eqn:DK; [discriminate|]. destruct DO as [SE LA].
  destruct (load _ _ _ _ _) as [[v h]|] eqn:L; [|discriminate].
  pose proof (load_cur _ _ _ _ _ _ _ L) as V.
  pose proof (fun C => covers_load _ _ _ _ _ _ _ L C) as CL.
  destruct (load_spec _ _ _ _ _ _ _ L) as (x & N & -> & LE & _ & _ & TC & _ & CA); specialize (CA eq_refl).
  pose proof (unit_more s e _ I V) as U; pose proof (i_units _ I e) as U0.
  destruct (u_seen _ _ _ _ _ _ _ _ _ U0 SE) as [IU HS].
  assert (HB : hbase s e <= a) by lia.
  pose proof (u_hval _ _ _ _ _ _ _ _ _ U0 IU _ _ N HB) as VA.
  pose proof (u_head _ _ _ _ _ _ _ _ _ U0 IU) as HL; pose proof (nth_lt _ _ _ N) as AL.
  destruct (u_read _ _ _ _ _ _ _ _ _ U0) as (_ & RB).
  assert (FIN : all_seen (mem s) e (cur (cth (con s))) -> val x = length (log s e)).
  { intro A; destruct (CL (A (Head e) eq_refl)) as [Q _]; lia. }
  destruct (Nat.ltb_spec (val x) (length (got (lane (con s) e)))) as [B|B]; injection G as <-; [lia|].
  apply con_step with e; auto.
  - intros e' NE; cbn; apply upd_other; assumption.
  - apply (i_corrupt _ I).
  - unfold unit_in; cbn; rewrite upd_here. pose proof (u_orphan _ _ _ _ _ _ _ _ _ U0) as OR0.
    destruct U; constructor; cbn; auto; try discriminate.
    + intros _; split; [assumption|lia].
    + split; [apply u_read0|lia].
    + intros j J; eapply covers_mono; [apply CA|]. eapply (u_hcov _ _ _ _ _ _ _ _ _ U0 IU); [exact N|lia].
    + intro O; apply orb_true_iff in O; destruct O as [O|O].
      * destruct (u_orphan0 O) as (A1 & A2 & A3); repeat split; auto. apply FIN, (OR0 O).
      * destruct (LA O) as [A1 A2]; repeat split; auto. eapply seen_mono; [exact V|exact A2].
  - exact Logic.I.
Qed.

Lemma read_inv : forall s e a s', inv s -> read s e a = Some s' -> inv s'.
Proof.
  intros s e a s' I G; unfold read in G.
  destruct (doing (con s)) eqn:DO; [|discriminate].
  destruct (Nat.ltb_spec (length (got (lane (con s) e))) (head (lane (con s) e))) as [B|B]; [|discriminate].
  destruct (load _ _ _ _ _) as [[v h]|] eqn:L; [|discriminate]. injection G as <-.
  pose proof (load_cur _ _ _ _ _ _ _ L) as V.
  pose proof (unit_more s e _ I V) as U; pose proof (i_units _ I e) as U0.
  destruct (covers_load _ _ _ _ _ _ _ L (u_cov _ _ _ _ _ _ _ _ _ U0 _ B)) as [_ ->].
  destruct (u_read _ _ _ _ _ _ _ _ _ U0) as ((rest & R) & RB).
  destruct rest as [|v rest]; [rewrite app_nil_r in R; rewrite R in RB; lia|].
  assert (NV : newest (mem s) (Rec e (length (got (lane (con s) e)))) = v).
  { apply (u_recs _ _ _ _ _ _ _ _ _ U0). rewrite R, nth_error_app2, Nat.sub_diag by lia; reflexivity. }
  rewrite NV. assert (SE : seen (lane (con s) e) = true).
  { destruct (seen (lane (con s) e)) eqn:S; [reflexivity|]. destruct (u_new _ _ _ _ _ _ _ _ _ U0 S) as (Z & _); lia. }
  apply con_step with e; auto.
  - intros e' NE; cbn; apply upd_other; assumption.
  - apply (i_corrupt _ I).
  - unfold unit_in; cbn; rewrite upd_here. destruct U; constructor; cbn; auto; try congruence.
    split; [exists rest; rewrite R, <- app_assoc; reflexivity|]. rewrite app_length; cbn; lia.
  - exact Logic.I.
Qed.

Lemma free_inv : forall s e s', inv s -> free ours s e = Some s' -> inv s'.
Proof.
  intros s e s' I G; unfold free in G; cbn [r_read r_free ours negb orb] in G.
  destruct (doing (con s)) eqn:DO; [|discriminate].
  destruct (orphan (lane (con s) e) && _) eqn:B; [|discriminate].
  apply andb_true_iff in B; destruct B as [B1 B2]; apply Nat.eqb_eq in B2.
  destruct (store _ _ _ _ _) as [m h] eqn:ST; injection G as <-.
  destruct (store_facts _ _ _ _ _ _ _ ST) as (y & -> & VY & MO & CO & _).
  pose proof (i_units _ I e) as U.
  destruct (u_orphan _ _ _ _ _ _ _ _ _ U B1) as (EN & AS & HL).
  assert (SAME : log s e = got (lane (con s) e)).
  { destruct (u_read _ _ _ _ _ _ _ _ _ U) as ((rest & R) & _); rewrite R in HL |- *.
    rewrite app_length in HL. destruct rest; [apply app_nil_r|cbn in HL; lia]. }
  destruct I as [IU IP ID IC IA]; constructor.
  - intro e'; unfold unit_in; cbn; destruct (Nat.eq_dec e' e) as [->|N].
    + rewrite !upd_here. destruct U; constructor; rewrite ?append_other by discriminate;
        cbn [in_use owner_sees cursor0 seen head got orphan heard]; auto; try discriminate.
      * rewrite append_here, app_length; cbn; lia.
      * intros t x N L; apply append_nth in N; destruct N as [N|(_ & -> & ->)]; [apply nth_lt in N; lia|]. lia.
      * intros t x N L; apply append_nth in N; destruct N as [N|(_ & -> & ->)]; [apply nth_lt in N; lia|lia].
      * intros x N; apply append_nth in N; destruct N as [N|(_ & Q & ->)]; [apply nth_lt in N; lia|lia].
      * intros j v N; destruct j; discriminate.
      * intros x X; apply CO, AS; assumption.
      * specialize (CO (State e) (AS (State e) eq_refl)); unfold covers in CO.
        rewrite append_here, app_length in CO; cbn in CO; lia.
      * split; [exists []; reflexivity|cbn; lia].
    + rewrite !upd_other by assumption. eapply unit_same; [apply IU|..]; auto.
      intros x X; apply append_other; intros <-; cbn in X; congruence.
  - intros t D; specialize (IP t D); cbn in *.
    assert (X : forall e', (holder s e' = Taken t \/ holder s e' = Opened t) -> e' <> e).
    { intros e' [Z|Z] ->; rewrite Z in EN; cbn in EN; [contradiction|congruence]. }
    destruct (pc (work s t)) as [|e'|e'|e'|e' v|e' v]; cbn in *; auto.
    + rewrite upd_other by (apply X; auto); assumption.
    + destruct IP as (Q1 & Q2 & Q3); rewrite upd_other by (apply X; auto); auto.
    + rewrite upd_other by (apply X; auto); assumption.
    + rewrite upd_other by (apply X; auto); assumption.
    + destruct IP as (Q1 & Q2); pose proof (X e' (or_intror Q1)); rewrite !upd_other by assumption; auto.
  - exact Logic.I.
  - exact IC.
  - intros e' a b; cbn; destruct (Nat.eq_dec e' e) as [->|N]; [rewrite upd_here|rewrite upd_other by assumption; apply IA].
    intro IN; apply in_app_or in IN; destruct IN as [IN|[IN|[]]]; [eapply IA; eauto|].
    injection IN as <- <-; assumption.
Qed.

Lemma inv0 : inv state0.
Proof.
  constructor; cbn; auto; try contradiction.
  intro e; unfold unit_in; cbn; constructor; cbn; auto; try discriminate; try lia.
  - intros [|[|t]] x N L; cbn in N; try (destruct t; discriminate); try discriminate; injection N as <-; reflexivity.
  - intros [|j] v N; discriminate.
  - intros x X; unfold covers; cbn; lia.
  - split; [exists []; reflexivity|lia].
Qed.

Lemma step_inv : forall s c s', inv s -> step ours s c = Some s' -> inv s'.
Proof.
  intros s c s' I H; unfold step in H; destruct c; cbn [actor_dead] in H;
    try (destruct (dead (work s t)) eqn:D; [discriminate|]).
  - unfold take in H; destruct (pc (work s t)); try discriminate.
    destruct (holder s e) as [|v|t'|t'|t'] eqn:HO; try discriminate; cbn [r_pool ours] in H;
      injection H as <-; apply take_inv; auto.
    + intro; cbn; apply join_l.
    + right; exists v; split; [assumption|]. intro; apply join_r.
  - eapply go_inv; eauto.
  - eapply event_inv; eauto.
  - eapply leave_inv; eauto.
  - injection H as <-; apply die_inv; assumption.
  - eapply mourn_inv; eauto.
  - eapply look_inv; eauto.
  - eapply continue_inv; eauto.
  - eapply read_inv; eauto.
  - eapply free_inv; eauto.
Qed.

Lemma reachable_inv : forall s, reachable ours s -> inv s.
Proof.
  intros s (cs & R); revert R; generalize inv0; generalize state0.
  induction cs as [|c cs IH]; cbn; intros s0 I R; [congruence|].
  destruct (step ours s0 c) as [s1|] eqn:S; [|discriminate]. eapply IH; [|exact R]. eapply step_inv; eauto.
Qed.

(* ---- theorems ---------------------------------------------------------------------------- *)

(* The lane of a thread. *)
Definition lane_of (p : tpc) : option nat :=
  match p with TIdle => None | TReset e | TOpen e | TIn e | TPut e _ | TPub e _ => Some e end.

Lemma lane_held : forall s t e, inv s -> dead (work s t) = false -> lane_of (pc (work s t)) = Some e ->
  holder s e = Taken t \/ holder s e = Opened t.
Proof.
  intros s t e I D L; pose proof (i_pcs _ I t D) as P.
  destruct (pc (work s t)); cbn in *; try discriminate; injection L as <-; tauto.
Qed.

(*
   What the collector has read since a lane was opened is the beginning of what the thread that
   opened it has published: no head and no record of an earlier use is taken.
*)
Theorem reuse_safety : forall s e, reachable ours s ->
  (exists rest, log s e = got (lane (con s) e) ++ rest) /\ corrupt (con s) = 0.
Proof.
  intros s e R; apply reachable_inv in R; split; [|apply (i_corrupt _ R)].
  apply (u_read _ _ _ _ _ _ _ _ _ (i_units _ R e)).
Qed.

(* A lane has one thread that lives, at most. *)
Theorem one_thread_per_lane : forall s t t' e, reachable ours s ->
  dead (work s t) = false -> dead (work s t') = false ->
  lane_of (pc (work s t)) = Some e -> lane_of (pc (work s t')) = Some e -> t = t'.
Proof.
  intros s t t' e R D D' L L'; apply reachable_inv in R.
  destruct (lane_held _ _ _ R D L), (lane_held _ _ _ R D' L'); congruence.
Qed.

(* All uses of a lane that are over were read to their end, whether the thread left or died. *)
Theorem read_to_the_end : forall s e published_ read_, reachable ours s ->
  In (published_, read_) (past s e) -> read_ = published_.
Proof. intros s e a b R I; apply reachable_inv in R; symmetry; eapply (i_past _ R); eauto. Qed.

(*
   A thread gets a lane only when no thread that lives has it, and the collector has read all of it
   that was published.
*)
Theorem taken_when_read : forall s t e s', reachable ours s -> step ours s (Take t e) = Some s' ->
  (forall t', dead (work s t') = false -> lane_of (pc (work s t')) <> Some e)
  /\ log s e = [] /\ seen (lane (con s) e) = false
  /\ forall published_ read_, In (published_, read_) (past s e) -> read_ = published_.
Proof.
  intros s t e s' R H; pose proof (read_to_the_end s e) as PA; pose proof R as R0; apply reachable_inv in R.
  assert (NU : in_use (holder s e) = false /\ forall t', holder s e <> Taken t').
  { unfold step in H; cbn in H; destruct (dead (work s t)); [discriminate|]. unfold take in H.
    destruct (pc (work s t)); try discriminate. destruct (holder s e); try discriminate; split; auto; discriminate. }
  destruct NU as [NU NT]; split; [|split; [|split]].
  - intros t' D L; destruct (lane_held _ _ _ R D L) as [Z|Z]; [eapply NT; eauto|rewrite Z in NU; discriminate].
  - apply (u_empty _ _ _ _ _ _ _ _ _ (i_units _ R e) NU).
  - apply not_used; assumption.
  - intros; eapply PA; eauto.
Qed.

(* A thread that stores into a lane, and the collector when it marks one free, has seen all earlier
   stores to it. *)
Theorem lane_stores_are_newest : forall s e x, reachable ours s -> unit_of x = e ->
  (forall t, dead (work s t) = false -> lane_of (pc (work s t)) = Some e ->
     covers (mem s) (cur (th (work s t))) x)
  /\ (orphan (lane (con s) e) = true -> covers (mem s) (cur (cth (con s))) x).
Proof.
  intros s e x R X; apply reachable_inv in R; pose proof (i_units _ R e) as U; split.
  - intros t D L; pose proof (u_owner _ _ _ _ _ _ _ _ _ U) as O; unfold owner_sees in O.
    destruct (lane_held _ _ _ R D L) as [Z|Z]; rewrite Z in O; apply O; assumption.
  - intro O; destruct (u_orphan _ _ _ _ _ _ _ _ _ U O) as (_ & A & _); apply A; assumption.
Qed.
