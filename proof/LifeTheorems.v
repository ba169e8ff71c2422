(* SPDX-License-Identifier: MIT *)
(*
   LifeTheorems.v - what holds in every run of threads that have coroutines.

   s is any reachable state.  The orders are those of C11 with the fence of a hand-over, or
   those of machines where a store becomes visible to all other threads at once, without it.
*)
Require Import Arith List Lia Bool.
Require Import Memory Life LifeInv LifeSteps.
Import ListNotations.

Section Theorems.

Variable fields : nat.
Hypothesis some_fields : Events < fields.
Variable o : orders.
Hypothesis orders_ok : o = fenced \/ o = multi_copy.

Notation entry_ok := (entry_ok fields o).
Notation pc_ok := (pc_ok fields).
Notation shape_ok := (shape_ok fields o).
Notation step := (step fields o).
Notation run := (run fields o).
Notation reachable := (reachable fields o).

Record state_ok (s : state) : Prop := { st_shape : shape_ok s; st_ids : ids_ok s }.

(* ---- ids ---------------------------------------------------------------------------- *)

(* A step that gives no id. *)
Lemma ids_keep : forall s s', ids_ok s -> (forall e, lives s' e = lives s e) ->
  mem s' LastId = mem s LastId ->
  (forall t e i, pc (work s' t) = TName e i -> pc (work s t) = TName e i) -> ids_ok s'.
Proof.
  intros s s' [R U N A] L M P.
  assert (E : newest (mem s') LastId = newest (mem s) LastId) by (apply newest_same; assumption).
  constructor; intros *; rewrite ?E, ?L; eauto.
  intro H; destruct (N _ _ _ (P _ _ _ H)) as [B C]; split; [assumption|].
  intros e' k; rewrite L; auto.
Qed.

Lemma ids_number : forall s s' t e a f v, ids_ok s -> pc (work s t) = TNumber e ->
  go fields o s t a f v = Some s' -> ids_ok s'.
Proof.
  intros s s' t e a f v [R U N A] PC G; unfold go in G; rewrite PC in G.
  cbn [fetch_add] in G; injection G as <-. set (i := newest (mem s) LastId) in *.
  match goal with |- ids_ok ?x => set (s' := x) end.
  assert (E : newest (mem s') LastId = S i)
    by (cbn [mem s']; rewrite newest_append; cbn [val]; fold i; fold (newest (mem s) LastId); lia).
  assert (P : forall t' e' j, pc (work s' t') = TName e' j ->
            (t' = t /\ j = S i) \/ (t' <> t /\ pc (work s t') = TName e' j)).
  { intros t' e' j H; cbn [work s'] in H; destruct (Nat.eq_dec t' t) as [->|NE].
    - rewrite upd_here in H; cbn [pc] in H; injection H as _ <-; auto.
    - rewrite upd_other in H by assumption; auto. }
  constructor.
  - intros e' k j H; specialize (R e' k j H); rewrite E; fold i in R; lia.
  - exact U.
  - intros t' e' j H; rewrite E; destruct (P _ _ _ H) as [[-> ->]|[NE Q]].
    + split; [lia|]. intros e2 k Q; specialize (R _ _ _ Q); fold i in R; lia.
    + destruct (N _ _ _ Q) as [B C]; split; [fold i in B; lia|exact C].
  - intros t1 t2 e1 e2 j H1 H2; destruct (P _ _ _ H1) as [[-> Q1]|[N1 Q1]], (P _ _ _ H2) as [[-> Q2]|[N2 Q2]].
    + reflexivity.
    + destruct (N _ _ _ Q2) as [B _]; fold i in B; lia.
    + destruct (N _ _ _ Q1) as [B _]; fold i in B; lia.
    + eauto.
Qed.

Lemma ids_name : forall s s' t e i a f v, ids_ok s -> pc (work s t) = TName e i ->
  go fields o s t a f v = Some s' -> ids_ok s'.
Proof.
  intros s s' t e i a f v [R U N A] PC G; unfold go in G; rewrite PC in G.
  cbn [store] in G; injection G as <-. destruct (N _ _ _ PC) as [B C].
  match goal with |- ids_ok ?x => set (s' := x) end.
  assert (E : newest (mem s') LastId = newest (mem s) LastId)
    by (cbn [mem s']; apply newest_other; discriminate).
  assert (L : forall e' k j, nth_error (lives s' e') k = Some j ->
            nth_error (lives s e') k = Some j \/ (e' = e /\ k = length (lives s e) /\ j = i)).
  { intros e' k j H; cbn [lives s'] in H; destruct (Nat.eq_dec e' e) as [->|NE].
    - rewrite upd_here in H; apply nth_last in H; destruct H as [H|[-> ->]]; auto.
    - rewrite upd_other in H by assumption; auto. }
  assert (P : forall t' e' j, pc (work s' t') = TName e' j -> t' <> t /\ pc (work s t') = TName e' j).
  { intros t' e' j H; cbn [work s'] in H; destruct (Nat.eq_dec t' t) as [->|NE].
    - rewrite upd_here in H; discriminate.
    - rewrite upd_other in H by assumption; auto. }
  constructor.
  - intros e' k j H; rewrite E; destruct (L _ _ _ H) as [Q|(-> & -> & ->)]; eauto.
  - intros e1 k1 e2 k2 j H1 H2; destruct (L _ _ _ H1) as [Q1|(-> & -> & Q1)],
      (L _ _ _ H2) as [Q2|(-> & -> & Q2)]; subst; eauto; exfalso; eapply C; eauto.
  - intros t' e' j H; destruct (P _ _ _ H) as [NE Q]; rewrite E.
    destruct (N _ _ _ Q) as [B' C']; split; [assumption|]. intros e2 k X.
    destruct (L _ _ _ X) as [X1|(-> & -> & ->)]; [eapply C'; eauto|]. apply NE; eauto.
  - intros t1 t2 e1 e2 j H1 H2; apply P in H1, H2; destruct H1, H2; eauto.
Qed.

(* ---- every step keeps the invariant ------------------------------------------------------ *)

Lemma life_ends : forall s e k t x i, state_ok s -> nth_error (lives s e) k = Some i ->
  2 * k + 2 <= t -> nth_error (mem s (Id e)) t = Some x -> val x <> i.
Proof.
  intros s e k t x i [K D] L T X E.
  pose proof (id_range _ D _ _ _ L) as R.
  destruct (Nat.Even_or_Odd t) as [[q Q]|[q Q]].
  - subst t; pose proof (ek_unused _ _ _ _ (sh_entries _ _ _ K e) _ _ X); lia.
  - replace t with (S (2 * q)) in X by lia.
    destruct (ek_named _ _ _ _ (sh_entries _ _ _ K e) _ _ X) as [N _].
    rewrite E in N. destruct (id_unique _ D _ _ _ _ _ L N) as [_ ->]; lia.
Qed.

(* Records and copies are no part of the entries. *)
Lemma shape_same : forall s s', shape_ok s -> mem s' = mem s -> work s' = work s ->
  holder s' = holder s -> lives s' = lives s -> whose s' = whose s ->
  (forall c, In c (reads s') -> In c (reads s) \/ whole fields s' c) -> shape_ok s'.
Proof.
  intros [m w h l q r d] [m' w' h' l' q' r' d'] K; cbn [mem work holder lives whose reads].
  intros -> -> -> -> -> R; destruct K as [KE KP KR]; constructor.
  - intro e; destruct (KE e); constructor; assumption.
  - exact KP.
  - intros c I; destruct (R c I) as [Q|Q]; [exact (KR c Q)|exact Q].
Qed.

Lemma keep_read : forall s t a f v s', state_ok s -> dead (work s t) = false ->
  match pc (work s t) with TRead _ | TCopy _ _ _ | TReadFence _ _ _ | TCheck _ _ _ => True | _ => False end ->
  go fields o s t a f v = Some s' -> shape_ok s'.
Proof.
  intros s t a f v s' OK D C G; destruct OK as [K ID] eqn:EOK; clear EOK.
  pose proof (sh_pcs _ _ _ K t D) as P. unfold go in G.
  destruct (pc (work s t)) as [| | | | | | | | | | | | | | |e|e id got|e id got|e id got];
    try contradiction.
  - (* the id *)
    rewrite (id_acquired _ orders_ok) in G.
    destruct (load _ _ _ _ _) as [[w h]|] eqn:LD; [|discriminate]; injection G as <-.
    eapply keep_load; eauto. destruct (Nat.eqb_spec w 0) as [E|NE]; [exact I|].
    destruct (load_spec _ _ _ _ _ _ _ LD) as (x & X & -> & _ & _ & _ & _ & _ & CC).
    destruct (Nat.Even_or_Odd a) as [[q Q]|[q Q]]; subst a.
    { rewrite (ek_unused _ _ _ _ (sh_entries _ _ _ K e) _ _ X) in NE; congruence. }
    replace (2 * q + 1) with (S (2 * q)) in X by lia.
    destruct (ek_named _ _ _ _ (sh_entries _ _ _ K e) _ _ X) as [N SI].
    split; [cbn; lia|]; exists q; split; [exact N|]; split.
    + intros g Hg u V; apply SI; [assumption|]. etransitivity; [apply CC; reflexivity|exact V].
    + intros g w E; destruct g; discriminate.
  - (* a field *)
    destruct (load _ _ _ _ _) as [[w h]|] eqn:LD; [|discriminate]; injection G as <-.
    eapply keep_load; eauto. destruct P as (LG & k & N & SI & CO).
    destruct (load_views _ _ _ _ _ _ _ LD) as (VC & VA & _).
    destruct (load_spec _ _ _ _ _ _ _ LD) as (x & X & -> & CA & _ & _ & _ & CC & _).
    assert (CO' : copies s e k (got ++ [val x]) (acq h)).
    { intros g w E; apply nth_last in E; destruct E as [E|[-> ->]].
      - exact (copies_later _ _ _ _ _ _ VA CO g w E).
      - destruct (SI _ LG a CA (nth_lt _ _ _ X)) as (j & k' & -> & W & Q).
        destruct (Nat.eq_dec k' k) as [->|NK].
        + left; exists j, x; auto.
        + destruct (ek_brings _ _ _ _ (sh_entries _ _ _ K e) _ _ _ _ X W) as [[-> Z]|B]; [auto|].
          right; right; etransitivity; [|apply CC]; lia. }
    destruct (Nat.ltb_spec (S (length got)) fields) as [B|B].
    + split; [rewrite app_length; cbn; lia|]. exists k; repeat split; auto.
      intros g Hg u V; apply SI; [assumption|]. etransitivity; [apply VC|exact V].
    + split; [rewrite app_length; cbn; lia|]. exists k; split; auto.
  - (* the fence *)
    rewrite (reader_fenced _ orders_ok) in G; injection G as <-.
    apply keep_at_pc; [exact K|..].
    + intro; apply join_l.
    + intro; left; cbn; lia.
    + destruct P as (L & k & N & CO); split; [assumption|]; exists k; split; [assumption|].
      eapply copies_later; [|exact CO]. intro; cbn; apply join_r.
  - (* the id again *)
    destruct (load _ _ _ _ _) as [[w h]|] eqn:LD; [|discriminate]; injection G as <-.
    assert (K1 : shape_ok (at_pc s t h TIdle)) by (eapply keep_load; eauto; exact I).
    destruct (accepts w id got) eqn:AC; [|exact K1].
    apply andb_true_iff in AC; destruct AC as [E1 E2]; apply Nat.eqb_eq in E1; subst w.
    apply negb_true_iff, Nat.eqb_neq in E2.
    destruct P as (L & k & N & CO).
    destruct (load_spec _ _ _ _ _ _ _ LD) as (x & X & EX & CA & _).
    apply (shape_same (at_pc s t h TIdle)); auto; cbn [reads at_pc].
    intros c [<-|I]; [right|left; exact I].
    exists k; split; [exact N|]; split; [exact L|]; cbn [c_fields c_entry].
    intros g w Q; destruct (CO g w Q) as [S|[[-> ->]|S]]; [exact S|..].
    + exfalso; apply E2; erewrite nth_error_nth; eauto.
    + exfalso; eapply (life_ends s e k a x id (Build_state_ok _ K ID)); eauto; lia.
Qed.

Lemma fence_views : forall b h x, cur h x <= cur (fence_if b h) x
  /\ (rel h x <= rel (fence_if b h) x \/ cur h x <= rel (fence_if b h) x).
Proof. intros [|] h x; cbn; split; auto. Qed.

(* A thread that has a coroutine, after its ctp_fence_handover(). *)
Lemma entered : forall s t e, shape_ok s -> holder s e = Alive t ->
  runs s t e (fence_if (o_handover o) (th (work s t))).
Proof.
  intros s t e K H; split; [assumption|]. pose proof (sh_entries _ _ _ K e) as KE.
  destruct orders_ok as [E|E]; rewrite E; cbn [o_handover fenced multi_copy fence_if].
  - pose proof (ek_length _ _ _ _ KE) as L; rewrite H in L; cbn [alive] in L.
    pose proof (ek_covered _ _ _ _ KE (Id e) eq_refl) as C; unfold covers, view_of in C; rewrite H in C.
    unfold life; cbn [rel fence_release]; unfold nr in *; lia.
  - apply (ek_rel _ _ _ _ KE); [rewrite E; reflexivity|assumption].
Qed.

Lemma keep_birth : forall s t e g v, shape_ok s -> dead (work s t) = false ->
  pc (work s t) = TBirth e g ->
  shape_ok (put s t e g (birth_value g v) (length (lives s e))
                (if S g <? fields then TBirth e (S g) else TNumber e)).
Proof.
  intros s t e g v K D PC; pose proof (sh_pcs _ _ _ K t D) as P; rewrite PC in P.
  destruct P as (H & L & R & B).
  assert (BO : born (put s t e g (birth_value g v) (length (lives s e))
                 (if S g <? fields then TBirth e (S g) else TNumber e)) e (S g)
                 (th (work s t))).
  { split; [exact R|]. intros g' G; rewrite put_whose, Nat.eqb_refl; cbn [andb].
    destruct (Nat.eqb_spec g g') as [<-|NE].
    - exists (length (whose s e g)); rewrite app_length; cbn [length]; split; [lia|].
      rewrite nth_error_app2, Nat.sub_diag by lia; reflexivity.
    - apply B; lia. }
  assert (RE : forall f h, born h e f (th (work s t)) -> h = put s t e g (birth_value g v) (length (lives s e))
                 (if S g <? fields then TBirth e (S g) else TNumber e) ->
                 born h e f (th (work h t))).
  { intros f h [X Y] ->; split; [rewrite put_rel; exact X|exact Y]. }
  apply keep_put; [assumption|left; assumption|unfold nr; lia|right; exact R|].
  destruct (Nat.ltb_spec (S g) fields) as [Q|Q].
  - split; [exact H|]; split; [assumption|]. apply RE; auto.
  - split; [exact H|]. assert (S g = fields) as <- by lia. apply RE; auto.
Qed.

Lemma keep_go : forall s t a f v s', state_ok s -> dead (work s t) = false ->
  go fields o s t a f v = Some s' -> shape_ok s'.
Proof.
  intros s t a f v s' OK D G; assert (K := st_shape _ OK).
  pose proof (sh_pcs _ _ _ K t D) as P. assert (G0 := G). unfold go in G.
  destruct (pc (work s t)) as [|e|e g|e|e id|e b|e b id|e b id|e b id n|e b id n|e b id n|e id n w|e|e|e
    |e|e id got|e id got|e id got] eqn:PC; cbn [LifeInv.pc_ok] in P; try discriminate;
    try (eapply keep_read; eauto; rewrite PC; exact I);
    try (destruct (load _ _ _ _ _) as [[w h]|] eqn:LD; [|discriminate]).
  - (* TFence *)
    injection G as <-. apply keep_at_pc; [assumption|apply fence_views|apply fence_views|].
    split; [assumption|]; split; [lia|]. rewrite (begin_fenced _ orders_ok).
    split; [|intros g G; lia]. pose proof (sh_entries _ _ _ K e) as KE.
    pose proof (ek_length _ _ _ _ KE) as L; rewrite P in L; cbn [alive] in L.
    pose proof (ek_covered _ _ _ _ KE (Id e) eq_refl) as C; unfold covers, view_of in C; rewrite P in C.
    cbn [fence_if rel fence_release]; lia.
  - (* TBirth *) injection G as <-; apply keep_birth; assumption.
  - (* TNumber *) refine (keep_number _ _ _ _ _ _ K PC D _). rewrite <- G0; unfold go; rewrite PC; reflexivity.
  - (* TName *) refine (keep_name _ _ orders_ok _ _ _ _ _ K PC D _).
    rewrite <- G0; unfold go; rewrite PC; reflexivity.
  - (* TLook *) injection G as <-; eapply keep_load; eauto. destruct (w =? 0); [exact I|exact P].
  - (* TEnter *)
    injection G as <-. apply keep_at_pc; [assumption|apply fence_views|apply fence_views|].
    apply entered; assumption.
  - (* TPut *)
    destruct (may_put _ _ _); [|discriminate]; injection G as <-. apply keep_event_put; auto.
  - (* TTick *)
    injection G as <-; eapply keep_load; eauto. destruct (load_views _ _ _ _ _ _ _ LD) as (_ & _ & R).
    destruct P as [A B]; split; [exact A|rewrite R; exact B].
  - (* TTicked *) injection G as <-; apply keep_event_put; auto.
  - (* TCount *)
    destruct (load_views _ _ _ _ _ _ _ LD) as (_ & _ & R). destruct P as [A B].
    destruct b; injection G as <-.
    + eapply keep_load; eauto. split; [exact A|rewrite R; exact B].
    + assert (K1 : shape_ok (at_pc s t h TIdle)) by (eapply keep_load; eauto; exact I).
      eapply shape_same; [exact K1|reflexivity..|auto].
    + assert (K1 : shape_ok (at_pc s t h (TZero e))) by (eapply keep_load; eauto; exact A).
      eapply shape_same; [exact K1|reflexivity..|auto].
  - (* TCounted *)
    injection G as <-.
    assert (K1 : shape_ok (put s t e Events (S w) (life s e) (TAfter e)))
      by (apply keep_event_put; auto).
    eapply shape_same; [exact K1|reflexivity..|auto].
  - (* TAfter *)
    destruct (may_put _ _ _); [|discriminate]; injection G as <-. apply keep_event_put; auto.
  - (* TZero *) refine (keep_zero _ _ _ _ _ _ K PC D _). rewrite <- G0; unfold go; rewrite PC; reflexivity.
  - (* TZeroState *)
    injection G as <-. destruct P as [H N]. apply keep_put; [assumption|left; assumption| | |exact I].
    + unfold life, nr; lia.
    + left; auto.
Qed.

Lemma keep_next : forall s t now s', shape_ok s -> dead (work s t) = false ->
  next s t now = Some s' -> shape_ok s'.
Proof.
  intros s t now s' K D H; pose proof (sh_pcs _ _ _ K t D) as P; unfold next in H.
  destruct (pc (work s t)); try discriminate; injection H as <-;
    apply keep_at_pc; auto; exact I.
Qed.

Lemma keep_start : forall s t e b s', shape_ok s -> start s t e b = Some s' -> shape_ok s'.
Proof.
  intros s t e b s' K H; unfold start in H.
  destruct (pc (work s t)); try discriminate; destruct b, (holder s e) eqn:HE;
    try discriminate; try (destruct (Nat.eqb_spec t t0) as [<-|]; [|discriminate]);
    injection H as <-; apply keep_at_pc; auto; cbn; auto.
Qed.

(* The entry goes to another, who has seen all that its owner had seen. *)
Lemma keep_held : forall s t e h g, shape_ok s -> dead (work s t) = false ->
  pc (work s t) = TIdle ->
  (forall x, cur (th (work s t)) x <= cur h x) ->
  (forall x, rel (th (work s t)) x <= rel h x) ->
  alive g = alive (holder s e) ->
  (forall t', t' <> t -> dead (work s t') = false -> holder s e <> Held t' /\ holder s e <> Alive t') ->
  (match g with
   | Fresh => False
   | Held t' => t' = t /\ forall x, view_of s e x <= cur h x
   | Alive t' => t' = t /\ (forall x, view_of s e x <= cur h x)
       /\ (o_multi o = true -> forall x, view_of s e x <= rel h x \/ holder s e = Alive t)
   | Pooled v | Adrift v => v = view_of s e
   end) ->
  shape_ok (pass s t h e g).
Proof.
  intros s t e h g K D PC C R A O V. set (s' := pass _ _ _ _ _).
  assert (F : frame s s' t).
  { destruct (frame_at_pc fields o s t h TIdle K C (fun x => or_introl (R x))).
    constructor; assumption. }
  apply (shape_step fields o s s' t); [assumption|assumption|..].
  - intro e'; destruct (Nat.eq_dec e' e) as [->|NE].
    2:{ left; repeat split. cbn [holder pass s']; apply upd_other; assumption. }
    right; split; [|exact O].
    pose proof (sh_entries _ _ _ K e) as KE; destruct KE as [K1 K2 K3 K4 K5 K6 K7 K8].
    assert (HH : holder s' e = g) by (cbn [holder pass s']; apply upd_here).
    constructor; rewrite ?HH; change (nr s' e) with (nr s e); rewrite ?A; auto.
    + intros x E; eapply covers_mono; [|apply K7; exact E].
      unfold view_of at 2; rewrite HH; cbn [work pass s'].
      destruct g as [|t'|v|t'|v]; try contradiction; try (subst v; apply le_n);
        [destruct V as [-> V]|destruct V as [-> [V _]]]; rewrite upd_here; apply V.
    + intros t' M E; rewrite E in V, A; cbn [work pass s'].
      destruct V as [-> [_ V]]; rewrite upd_here; cbn [th].
      change (life s' e) with (life s e). destruct (V M (Id e)) as [V1|V1].
      * specialize (K7 (Id e) eq_refl); unfold covers in K7. rewrite <- A in K1; cbn [alive] in K1.
        unfold life; unfold nr in *; lia.
      * etransitivity; [apply K8; eauto|apply R].
  - intros _; cbn [work pass s']; rewrite upd_here; exact I.
  - intros c I; left; exact I.
Qed.

Lemma keep_give : forall s t e s', shape_ok s -> dead (work s t) = false ->
  give s t e = Some s' -> shape_ok s'.
Proof.
  intros s t e s' K D H; unfold give in H. destruct (pc (work s t)) eqn:PC; try discriminate.
  destruct (holder s e) eqn:HE; try discriminate;
    (destruct (Nat.eqb_spec t t0) as [<-|]; [|discriminate]); injection H as <-;
    apply keep_held; auto; try (rewrite HE; reflexivity);
    try (intros t' N _; rewrite HE; split; congruence);
    unfold view_of; rewrite HE; reflexivity.
Qed.

Lemma keep_take : forall s t e s', shape_ok s -> dead (work s t) = false ->
  take o s t e = Some s' -> shape_ok s'.
Proof.
  intros s t e s' K D H; unfold take in H. destruct (pc (work s t)) eqn:PC; try discriminate.
  assert (RE : forall v b x, rel (th (work s t)) x <= rel (acquire (th (work s t)) v b) x).
  { intros v [|] x; cbn; [apply join_l|lia]. }
  assert (MU : forall v, o_multi o = true -> forall x, v x <= rel (acquire (th (work s t)) v (o_multi o)) x).
  { intros v M x; rewrite M; cbn; apply join_r. }
  destruct (holder s e) as [|t'|v|d|v] eqn:HE; try discriminate.
  - injection H as <-; apply keep_held; auto; try (rewrite HE; reflexivity).
    + intros t' N _; rewrite HE; split; congruence.
    + split; [reflexivity|]; unfold view_of; rewrite HE; intro x; unfold bottom; lia.
  - injection H as <-; apply keep_held; auto; try (rewrite HE; reflexivity).
    + intro x; apply join_l.
    + intros t' N _; rewrite HE; split; congruence.
    + split; [reflexivity|]; unfold view_of; rewrite HE; intro x; apply join_r.
  - destruct (dead (work s d)) eqn:DD; [|discriminate].
    injection H as <-; apply keep_held; auto; try (rewrite HE; reflexivity).
    + intro x; apply join_l.
    + intros t' N DT; rewrite HE; split; congruence.
    + unfold view_of; rewrite HE; split; [reflexivity|]; split; [intro x; apply join_r|].
      intros M x; left; apply MU; assumption.
  - injection H as <-; apply keep_held; auto; try (rewrite HE; reflexivity).
    + intro x; apply join_l.
    + intros t' N _; rewrite HE; split; congruence.
    + unfold view_of; rewrite HE; split; [reflexivity|]; split; [intro x; apply join_r|].
      intros M x; left; apply MU; assumption.
Qed.

Lemma keep_die : forall s t, shape_ok s -> shape_ok (die s t).
Proof.
  intros s t K.
  assert (TH : forall t', th (work (die s t) t') = th (work s t')).
  { intro t'; cbn [work die]; destruct (Nat.eq_dec t' t) as [->|N];
      [rewrite upd_here; reflexivity|rewrite upd_other by assumption; reflexivity]. }
  apply (shape_step fields o s (die s t) t); [assumption|..].
  - constructor; cbn [mem lives whose die].
    + intro e; exists []; rewrite app_nil_r; reflexivity.
    + intros e f; exists []; rewrite app_nil_r; split; [reflexivity|contradiction].
    + intro x; exists []; rewrite app_nil_r; reflexivity.
    + intros e f; apply (ek_whose _ _ _ _ (sh_entries _ _ _ K e)).
    + intros t' x; rewrite TH; lia.
    + intros t' x; rewrite TH; left; lia.
    + intros t' N; apply upd_other; assumption.
  - intro e; left; repeat split.
  - cbn [work die]; rewrite upd_here; discriminate.
  - intros c I; left; exact I.
Qed.

Lemma step_ok : forall s c s', state_ok s -> step s c = Some s' -> state_ok s'.
Proof.
  intros s c s' OK H; assert (K := st_shape _ OK); assert (D := st_ids _ OK); unfold Life.step in H.
  destruct (dead (work s (actor c))) eqn:DE; [discriminate|].
  assert (PC : forall t w, (forall e i, pc w <> TName e i) ->
            forall t' e i, pc (upd (work s) t w t') = TName e i -> pc (work s t') = TName e i).
  { intros t w N t' e i E; destruct (Nat.eq_dec t' t) as [->|NE].
    - rewrite upd_here in E; exfalso; eapply N; eauto.
    - rewrite upd_other in E by assumption; assumption. }
  constructor.
  - destruct c; cbn [actor] in DE; [eapply keep_go|eapply keep_next|eapply keep_start|eapply keep_give
      |eapply keep_take|injection H as <-; apply keep_die]; eauto.
  - destruct c as [t a f v|t now|t e b|t e|t e|t]; cbn [actor] in DE.
    + destruct (pc (work s t)) eqn:P; try (unfold go in H; rewrite P in H; discriminate);
        try (eapply ids_number; eauto; fail); try (eapply ids_name; eauto; fail);
        unfold go in H; rewrite P in H;
        try (destruct (load _ _ _ _ _) as [[w h]|]; [|discriminate]);
        try (destruct (may_put _ _ _); [|discriminate]);
        try (destruct a0);
        injection H as <-; try (destruct (accepts _ _ _));
        (apply (ids_keep s); [assumption|reflexivity|
           try reflexivity; cbn [mem put store]; apply append_other; discriminate|
           apply PC; cbn [pc]; try discriminate; intros;
           repeat match goal with |- context [if ?b then _ else _] => destruct b end; discriminate]).
    + unfold next in H; destruct (pc (work s t)); try discriminate; injection H as <-;
        (apply (ids_keep s); [assumption|reflexivity|reflexivity|apply PC; discriminate]).
    + unfold start in H; destruct (pc (work s t)); try discriminate;
        destruct b, (holder s e); try discriminate;
        try (destruct (t =? t0); [|discriminate]); injection H as <-;
        (apply (ids_keep s); [assumption|reflexivity|reflexivity|apply PC; discriminate]).
    + unfold give in H; destruct (pc (work s t)); try discriminate; destruct (holder s e);
        try discriminate; destruct (t =? t0); try discriminate; injection H as <-;
        (apply (ids_keep s); [assumption|reflexivity|reflexivity|apply PC; discriminate]).
    + unfold take in H; destruct (pc (work s t)); try discriminate; destruct (holder s e);
        try discriminate; try (destruct (dead (work s t0)); [|discriminate]); injection H as <-;
        (apply (ids_keep s); [assumption|reflexivity|reflexivity|apply PC; discriminate]).
    + injection H as <-. apply (ids_keep s); [assumption|reflexivity|reflexivity|].
      intros t' e i; cbn [work die]; destruct (Nat.eq_dec t' t) as [->|NE];
        [rewrite upd_here; auto|rewrite upd_other by assumption; auto].
Qed.

Lemma state_ok0 : state_ok state0.
Proof.
  assert (N : forall A n (x : A), nth_error [] n = Some x -> False) by (intros A [|n] x H; discriminate).
  constructor; constructor; cbn [mem work holder lives whose records reads state0 pc].
  - intro e; constructor; cbn [mem work holder lives whose state0 alive]; unfold nr; cbn [lives state0].
    + reflexivity.
    + discriminate.
    + intros [|k] x X; [injection X as <-; reflexivity|].
      cbn in X; rewrite Nat.add_succ_r in X; cbn in X; destruct k; discriminate.
    + intros k x X; exfalso; cbn in X; eapply N; eauto.
    + reflexivity.
    + intros f j x k X; exfalso; cbn in X; eapply N; eauto.
    + intros x _; unfold covers, memory0; cbn; lia.
    + discriminate.
  - intros t _; exact I.
  - contradiction.
  - intros e k i H; exfalso; eapply N; eauto.
  - intros e k e' k' i H; exfalso; eapply N; eauto.
  - discriminate.
  - discriminate.
Qed.

Lemma run_ok : forall cs s s', state_ok s -> run s cs = Some s' -> state_ok s'.
Proof.
  induction cs as [|c cs IH]; cbn; intros s s' OK H; [congruence|].
  destruct (step s c) as [s1|] eqn:E; [|discriminate].
  eapply IH; [eapply step_ok; eauto|assumption].
Qed.

Lemma reachable_ok : forall s, reachable s -> state_ok s.
Proof. intros s [cs H]; eapply run_ok; eauto using state_ok0. Qed.

(* ---- what is proven ------------------------------------------------------------------------ *)

(* What life_read() returns is of one coroutine: every field has a value that a store of the
   coroutine with that id left there, whichever threads made those stores. *)
Theorem life_is_whole : forall s c, reachable s -> In c (reads s) -> exists k,
  nth_error (lives s (c_entry c)) k = Some (c_id c)
  /\ length (c_fields c) = fields
  /\ forall f v, nth_error (c_fields c) f = Some v -> stored s (c_entry c) k f v.
Proof. intros s c R I; apply reachable_ok in R; exact (sh_reads _ _ _ (st_shape _ R) c I). Qed.

(* No two lives have the same id, in whatever entries, and none has the id 0. *)
Theorem ids_are_unique : forall s e k e' k' i, reachable s ->
  nth_error (lives s e) k = Some i -> nth_error (lives s e') k' = Some i ->
  i <> 0 /\ e = e' /\ k = k'.
Proof.
  intros s e k e' k' i R A B; apply reachable_ok in R; pose proof (st_ids _ R) as D.
  split; [pose proof (id_range _ D _ _ _ A); lia|]. eapply id_unique; eauto.
Qed.

(* The life after this one has another id: a copy with this id has nothing of that life. *)
Corollary never_the_successor : forall s c k, reachable s -> In c (reads s) ->
  nth_error (lives s (c_entry c)) k = Some (c_id c) ->
  forall f v, nth_error (c_fields c) f = Some v -> exists j x,
    nth_error (whose s (c_entry c) f) j = Some k
    /\ nth_error (mem s (Field (c_entry c) f)) (S j) = Some x /\ val x = v.
Proof.
  intros s c k R I N f v F; destruct (life_is_whole s c R I) as (k' & N' & _ & W).
  destruct (ids_are_unique _ _ _ _ _ _ R N N') as (_ & _ & ->). exact (W f v F).
Qed.

(* The thread that has an entry has seen every store to it: C11 leaves no other place for its own
   stores than the end, where Memory.v puts them. *)
Theorem stores_are_newest : forall s t e x, reachable s ->
  holder s e = Held t \/ holder s e = Alive t -> entry_of x = Some e ->
  covers (mem s) (cur (th (work s t))) x.
Proof.
  intros s t e x R H E; apply reachable_ok in R.
  rewrite <- (view_of_owner s t e H). apply (ek_covered _ _ _ _ (sh_entries _ _ _ (st_shape _ R) e)).
  exact E.
Qed.

End Theorems.
