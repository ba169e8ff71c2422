(* SPDX-License-Identifier: MIT *)
(*
   LifeEvents.v - a coroutine's events are of that coroutine, numbered and in order of time,
   whichever threads make them.

   The thread that has a coroutine reads the newest id, time and number of its entry: a
   hand-over passes on what the last thread has seen.  records has the latest first.
*)
Require Import Arith List Lia Bool Sorted.
Require Import Memory Life LifeInv LifeSteps LifeTheorems.
Import ListNotations.

Definition of_id (i : nat) (rs : list event) : list event := filter (fun r => r_id r =? i) rs.

Definition is_transition (r : event) : bool :=
  match r_kind r with Transition => true | _ => false end.

Definition transitions (i : nat) (rs : list event) : list event := filter is_transition (of_id i rs).

Definition later (a b : event) : Prop := r_ticks b < r_ticks a.

Lemma of_id_in : forall i rs r, In r (of_id i rs) -> In r rs /\ r_id r = i.
Proof. intros i rs r I; apply filter_In in I; destruct I as [I E]; apply Nat.eqb_eq in E; auto. Qed.

Lemma of_id_here : forall r rs, of_id (r_id r) (r :: rs) = r :: of_id (r_id r) rs.
Proof. intros; unfold of_id; cbn; rewrite Nat.eqb_refl; reflexivity. Qed.

Lemma of_id_other : forall i r rs, r_id r <> i -> of_id i (r :: rs) = of_id i rs.
Proof. intros i r rs N; unfold of_id; cbn. destruct (Nat.eqb_spec (r_id r) i); congruence. Qed.

Section Events.

Variable fields : nat.
Hypothesis some_fields : Events < fields.
Variable o : orders.
Hypothesis orders_ok : o = fenced \/ o = multi_copy.

Notation state_ok := (state_ok fields o).

(* The coroutine that the entry has now. *)
Definition now (s : state) (e i : nat) : Prop := nth_error (lives s e) (life s e) = Some i.

Definition in_order (i : nat) (rs : list event) : Prop :=
  StronglySorted later (of_id i rs)
  /\ map r_number (transitions i rs) = rev (seq 0 (length (transitions i rs))).

Definition known (s : state) : Prop := forall r, In r (records s) ->
  exists k, nth_error (lives s (r_entry r)) k = Some (r_id r).

Definition counted (s : state) (e : nat) : Prop := alive (holder s e) = true ->
  forall i, now s e i ->
  newest (mem s) (Field e Events) = length (transitions i (records s))
  /\ forall r, In r (of_id i (records s)) -> r_ticks r <= newest (mem s) (Field e Ticks).

Definition ticked (s : state) (e i ticks : nat) : Prop :=
  now s e i /\ newest (mem s) (Field e Ticks) = ticks
  /\ forall r, In r (of_id i (records s)) -> r_ticks r < ticks.

Definition makes (s : state) (p : tpc) : Prop :=
  match p with
  | TBirth e f => Events < f -> newest (mem s) (Field e Events) = 0
  | TNumber e | TName e _ => newest (mem s) (Field e Events) = 0
  | TEnter e _ i | TPut e _ i | TTick e _ i _ => now s e i
  | TTicked e _ i ticks => now s e i /\ newest (mem s) (Field e Ticks) < ticks
  | TCount e _ i ticks => ticked s e i ticks
  | TCounted e i ticks n => ticked s e i ticks /\ newest (mem s) (Field e Events) = n
  | _ => True
  end.

Record events_ok (s : state) : Prop := {
  ev_known : known s;
  ev_order : forall i, in_order i (records s);
  ev_counted : forall e, counted s e;
  ev_makes : forall t, dead (work s t) = false -> makes s (pc (work s t))
}.

(* The entry in which a thread makes an event, or begins a life. *)
Definition makes_in (p : tpc) : option nat :=
  match p with
  | TBirth e _ | TNumber e | TName e _ | TEnter e _ _ | TPut e _ _ | TTick e _ _ _
  | TTicked e _ _ _ | TCount e _ _ _ | TCounted e _ _ _ => Some e
  | _ => None
  end.

Lemma makes_owner : forall s t, state_ok s -> dead (work s t) = false ->
  forall e, makes_in (pc (work s t)) = Some e -> owns s t e.
Proof.
  intros s t OK D e M; pose proof (sh_pcs _ _ _ (st_shape _ _ _ OK) t D) as P.
  destruct (pc (work s t)); try discriminate; injection M as ->; cbn in P;
    unfold owns; first [right; exact P|left; exact (proj1 P)|right; exact (proj1 P)].
Qed.

(* What a step of thread t in entry e must keep. *)
Lemma events_step : forall s s' t e, state_ok s -> events_ok s -> owns s t e ->
  (forall t', t' <> t -> work s' t' = work s t') ->
  (forall e' f, e' <> e -> mem s' (Field e' f) = mem s (Field e' f)) ->
  (forall e', e' <> e -> lives s' e' = lives s e' /\ holder s' e' = holder s e') ->
  (records s' = records s \/ exists r, records s' = r :: records s /\ now s e (r_id r)) ->
  known s' -> (forall i, in_order i (records s')) -> counted s' e ->
  (dead (work s' t) = false -> makes s' (pc (work s' t))) -> events_ok s'.
Proof.
  intros s s' t e OK EV O W M L R KN OR CO MK.
  assert (OF : forall e' k i, e' <> e -> nth_error (lives s e') k = Some i ->
            of_id i (records s') = of_id i (records s)).
  { intros e' k i NE N; destruct R as [-> |(r & -> & Q)]; [reflexivity|].
    apply of_id_other; intro E; rewrite E in Q; unfold now in Q.
    destruct (id_unique _ (st_ids _ _ _ OK) _ _ _ _ _ N Q); contradiction. }
  assert (NW : forall e' f, e' <> e -> newest (mem s') (Field e' f) = newest (mem s) (Field e' f)).
  { intros e' f NE; apply newest_same, M; assumption. }
  assert (NO : forall e' i, e' <> e -> now s e' i -> now s' e' i).
  { intros e' i NE N; unfold now, life in *; destruct (L e' NE) as [-> _]; assumption. }
  constructor; [assumption|assumption|..].
  - intro e'; destruct (Nat.eq_dec e' e) as [->|NE]; [assumption|].
    intros A i N; destruct (L e' NE) as [LE HE]; rewrite HE in A.
    assert (N0 : now s e' i) by (unfold now, life in *; rewrite LE in N; assumption).
    destruct (ev_counted _ EV e' A i N0) as [C1 C2]. unfold transitions in *.
    rewrite !NW, (OF e' _ i NE N0) by assumption. auto.
  - intros t' D; destruct (Nat.eq_dec t' t) as [->|NE]; [auto|]. rewrite (W t' NE) in *.
    pose proof (ev_makes _ EV t' D) as P; pose proof (makes_owner s t' OK D) as Q.
    assert (QE : forall e', makes_in (pc (work s t')) = Some e' -> e' <> e).
    { intros e' I E; subst e'; specialize (Q e I); destruct O as [O|O], Q as [Q|Q]; congruence. }
    destruct (pc (work s t')); cbn in *; auto; specialize (QE _ eq_refl); unfold ticked in *;
      rewrite ?NW by assumption; auto.
    + destruct P; auto.
    + destruct P as (P1 & P2 & P3); rewrite (OF _ _ _ QE P1); auto.
    + destruct P as ((P1 & P2 & P3) & P4); rewrite (OF _ _ _ QE P1); auto.
Qed.

(* ---- steps that store nothing, or in no field --------------------------------------------- *)

Lemma events_same : forall s s' t, events_ok s -> mem s' = mem s \/ (exists x, mem s' = append (mem s) LastId x) ->
  lives s' = lives s -> (forall e, alive (holder s' e) = true -> alive (holder s e) = true) ->
  records s' = records s -> (forall t', t' <> t -> work s' t' = work s t') ->
  (dead (work s' t) = false -> makes s (pc (work s' t))) -> events_ok s'.
Proof.
  intros s s' t [KN OR CO MK] M L H R W P.
  assert (NW : forall e f, newest (mem s') (Field e f) = newest (mem s) (Field e f)).
  { intros e f; destruct M as [-> |(x & ->)]; [reflexivity|]. apply newest_other; discriminate. }
  assert (MM : forall p, makes s p -> makes s' p).
  { intros p; destruct p; cbn; unfold ticked, now, life; rewrite ?NW, ?L, ?R; auto. }
  constructor.
  - unfold known; rewrite L, R; exact KN.
  - rewrite R; exact OR.
  - intros e A i; unfold now, life; rewrite !NW, L, R; apply CO, H, A.
  - intros t' D; destruct (Nat.eq_dec t' t) as [->|NE]; [auto|].
    rewrite (W t' NE) in *; apply MM, MK, D.
Qed.

Lemma events_at_pc : forall s t h p, events_ok s -> makes s p -> events_ok (at_pc s t h p).
Proof.
  intros s t h p EV P; apply (events_same s _ t); auto.
  - intros t' N; apply upd_other; assumption.
  - intros _; cbn [work at_pc]; rewrite upd_here; exact P.
Qed.

(* ---- stores and records ------------------------------------------------------------------ *)

Lemma put_newest : forall s t e f v k p, newest (mem (put s t e f v k p)) (Field e f) = v.
Proof. intros; cbn [put mem store]; rewrite newest_append; reflexivity. Qed.

Lemma put_newest_other : forall s t e f v k p f', f' <> f ->
  newest (mem (put s t e f v k p)) (Field e f') = newest (mem s) (Field e f').
Proof. intros; apply newest_same, put_mem; congruence. Qed.

Lemma put_events : forall s t e f v k p, state_ok s -> events_ok s -> owns s t e ->
  counted (put s t e f v k p) e -> makes (put s t e f v k p) p -> events_ok (put s t e f v k p).
Proof.
  intros s t e f v k p OK EV O CO MK.
  apply (events_step s _ t e); auto.
  - intros t' N; apply upd_other; assumption.
  - intros e' f' N; apply put_mem; congruence.
  - exact (ev_known _ EV).
  - exact (ev_order _ EV).
  - intros _; cbn [put work store]; rewrite upd_here; exact MK.
Qed.

Lemma in_order_more : forall s r, (forall i, in_order i (records s)) ->
  (forall r', In r' (of_id (r_id r) (records s)) -> r_ticks r' < r_ticks r) ->
  (is_transition r = true -> r_number r = length (transitions (r_id r) (records s))) ->
  forall i, in_order i (r :: records s).
Proof.
  intros s r OR T N i; destruct (Nat.eq_dec (r_id r) i) as [<-|NE].
  2:{ unfold in_order, transitions; rewrite !of_id_other by assumption; apply OR. }
  destruct (OR (r_id r)) as [A B]; unfold in_order, transitions in *; rewrite of_id_here; split.
  - constructor; [assumption|]. apply Forall_forall; exact T.
  - cbn [filter]; destruct (is_transition r) eqn:E; [|assumption].
    cbn [map length]; rewrite seq_S, rev_app_distr; cbn [rev app Nat.add].
    rewrite (N eq_refl), B; reflexivity.
Qed.

Lemma events_name : forall s t e i s' a f v, state_ok s -> events_ok s ->
  dead (work s t) = false -> pc (work s t) = TName e i ->
  go fields o s t a f v = Some s' -> events_ok s'.
Proof.
  intros s t e i s' a f v OK EV D PC G.
  pose proof (makes_owner s t OK D e) as O; rewrite PC in O; specialize (O eq_refl).
  pose proof (ev_makes _ EV t D) as P; rewrite PC in P; cbn in P.
  destruct (id_new _ (st_ids _ _ _ OK) _ _ _ PC) as [_ NEW].
  unfold go in G; rewrite PC in G; cbn [store] in G; injection G as <-.
  assert (NONE : of_id i (records s) = []).
  { destruct (of_id i (records s)) as [|r rs] eqn:E; [reflexivity|exfalso].
    assert (I : In r (of_id i (records s))) by (rewrite E; left; reflexivity).
    apply of_id_in in I; destruct I as [I <-]. destruct (ev_known _ EV r I) as (k & N).
    eapply NEW; eauto. }
  match goal with |- events_ok ?x => set (s' := x) end.
  assert (LL : lives s' e = lives s e ++ [i]) by (cbn [lives s']; apply upd_here).
  assert (NE : forall e' g, newest (mem s') (Field e' g) = newest (mem s) (Field e' g)).
  { intros e' g; cbn [mem s']; apply newest_other; discriminate. }
  apply (events_step s s' t e); [assumption|assumption|assumption|..];
    cbn [work mem lives holder records s'].
  - intros t' N; apply upd_other; assumption.
  - intros; apply append_other; discriminate.
  - intros e' N; split; apply upd_other; assumption.
  - left; reflexivity.
  - intros r I; destruct (ev_known _ EV r I) as (k & N); exists k; cbn [lives s'].
    destruct (Nat.eq_dec (r_entry r) e) as [E|E].
    + rewrite E in *; rewrite upd_here; apply nth_old; assumption.
    + rewrite upd_other by assumption; assumption.
  - exact (ev_order _ EV).
  - intros _ j N; unfold now, life in N; rewrite LL in N.
    rewrite app_length, nth_error_app2 in N by (cbn; lia); cbn [length] in N.
    replace (length (lives s e) + 1 - 1 - length (lives s e)) with 0 in N by lia; injection N as <-.
    rewrite !NE; cbn [records s']; unfold transitions; rewrite NONE; split; [exact P|contradiction].
  - rewrite upd_here; intros; exact I.
Qed.

Lemma events_go : forall s t a f v s', state_ok s -> events_ok s -> dead (work s t) = false ->
  go fields o s t a f v = Some s' -> events_ok s'.
Proof.
  intros s t a f v s' OK EV D G; assert (G0 := G).
  pose proof (sh_pcs _ _ _ (st_shape _ _ _ OK) t D) as P.
  pose proof (ev_makes _ EV t D) as M. pose proof (makes_owner s t OK D) as O.
  (* the thread that has the coroutine loads what is newest *)
  assert (NEWEST : forall e x ord w h, holder s e = Alive t -> entry_of x = Some e ->
            load ord x a (mem s) (th (work s t)) = Some (w, h) -> w = newest (mem s) x).
  { intros e x ord w h H E LD. eapply covers_load; eauto.
    pose proof (ek_covered _ _ _ _ (sh_entries _ _ _ (st_shape _ _ _ OK) e) x E) as C.
    unfold view_of in C; rewrite H in C; exact C. }
  (* a store that is no time and no number *)
  assert (PUT : forall e g w k p, owns s t e -> g <> Ticks -> g <> Events -> makes s p ->
            events_ok (put s t e g w k p)).
  { intros e g w k p OW N1 N2 MP; apply put_events; auto.
    - intros A i N; rewrite !put_newest_other by congruence.
      exact (ev_counted _ EV e A i N).
    - assert (NW : forall e' f', f' = Ticks \/ f' = Events ->
        newest (mem (put s t e g w k p)) (Field e' f') = newest (mem s) (Field e' f')).
      { intros e' f' F; apply newest_same, put_mem; destruct F; congruence. }
      assert (LR : lives (put s t e g w k p) = lives s /\ records (put s t e g w k p) = records s)
        by (split; reflexivity).
      revert NW LR; generalize (put s t e g w k p); intros s2 NW [L2 R2].
      destruct p; cbn in *; unfold ticked, now, life in *; rewrite ?L2, ?R2, ?NW by auto; auto. }
  unfold go in G.
  destruct (pc (work s t)) as [|e|e g|e|e id|e b|e b id|e b id|e b id n|e b id n|e b id n|e id n w|e|e|e
    |e|e id got|e id got|e id got] eqn:PC; cbn [LifeInv.pc_ok makes] in P, M; try discriminate;
    try (destruct (load _ _ _ _ _) as [[w h]|] eqn:LD; [|discriminate]).
  - (* TFence *) injection G as <-; apply events_at_pc; [assumption|]. cbn; lia.
  - (* TBirth *)
    injection G as <-. destruct P as (H & L & _).
    apply put_events; auto.
    + intro A; cbn [put holder store] in A; rewrite H in A; discriminate.
    + assert (Q : Events < S g -> newest (mem (put s t e g (birth_value g v) (length (lives s e))
                (if S g <? fields then TBirth e (S g) else TNumber e))) (Field e Events) = 0).
      { intro B; destruct (Nat.eq_dec g Events) as [->|NE]; [apply put_newest|].
        rewrite put_newest_other by congruence. apply M; lia. }
      destruct (Nat.ltb_spec (S g) fields); cbn [makes]; [exact Q|apply Q; lia].
  - (* TNumber *)
    cbn [fetch_add] in G; injection G as <-. apply (events_same s _ t); auto; cbn [work mem holder].
    + right; eexists; reflexivity.
    + intros t' N; apply upd_other; assumption.
    + rewrite upd_here; intros; exact M.
  - (* TName *) eapply events_name; eauto.
  - (* TLook *)
    injection G as <-; apply events_at_pc; [assumption|].
    destruct (Nat.eqb_spec w 0) as [E|NE]; [exact I|]. cbn [makes].
    (* the newest id is the one of its life *)
    pose proof (sh_entries _ _ _ (st_shape _ _ _ OK) e) as KE.
    pose proof (ek_length _ _ _ _ KE) as LE; rewrite P in LE; cbn [alive] in LE.
    pose proof (ek_alive _ _ _ _ KE) as NR; rewrite P in NR; specialize (NR eq_refl).
    pose proof (ek_covered _ _ _ _ KE (Id e) eq_refl) as C.
    unfold view_of in C; rewrite P in C. destruct (covers_load _ _ _ _ _ _ _ LD C) as [Q _].
    destruct (load_spec _ _ _ _ _ _ _ LD) as (x & X & -> & _).
    replace a with (S (2 * life s e)) in X by (unfold life; unfold nr in *; lia).
    exact (proj1 (ek_named _ _ _ _ KE _ _ X)).
  - (* TEnter *) injection G as <-; apply events_at_pc; assumption.
  - (* TPut *)
    destruct (may_put fields f v) eqn:B; [|discriminate]; injection G as <-.
    unfold may_put in B. apply andb_true_iff in B; destruct B as [B _].
    apply andb_true_iff in B; destruct B as [B B2]; apply andb_true_iff in B; destruct B as [_ B1].
    apply negb_true_iff, Nat.eqb_neq in B1; apply negb_true_iff, Nat.eqb_neq in B2.
    apply PUT; auto; exact M.
  - (* TTick *)
    injection G as <-; apply events_at_pc; [assumption|]. destruct P as [H _].
    rewrite (NEWEST e (Field e Ticks) _ _ _ H eq_refl LD); split; [exact M|lia].
  - (* TTicked *)
    injection G as <-. destruct P as [H _], M as [M1 M2].
    destruct (ev_counted _ EV e) with (i := id) as [C1 C2]; [rewrite H; reflexivity|exact M1|].
    apply put_events; auto.
    + intros A i N. rewrite put_newest, put_newest_other by discriminate.
      assert (i = id) as -> by (change (now s e i) in N; unfold now in *; congruence).
      split; [exact C1|]. intros r I; specialize (C2 r I); lia.
    + cbn [makes]; unfold ticked; rewrite put_newest. split; [exact M1|]; split; [reflexivity|].
      intros r I; specialize (C2 r I); lia.
  - (* TCount *)
    destruct P as [H _], M as (M1 & M2 & M3).
    destruct (ev_counted _ EV e) with (i := id) as [C1 C2]; [rewrite H; reflexivity|exact M1|].
    pose proof (NEWEST e (Field e Events) _ _ _ H eq_refl LD) as W.
    assert (NOTE : forall a p, (a = Return \/ a = Destroy) -> makes_in p = None ->
              events_ok (note (at_pc s t h p) (Event e a id w n))).
    { intros a' p A MI.
      apply (events_step s _ t e); [assumption|assumption|right; assumption|..].
      - intros t' N; apply upd_other; assumption.
      - reflexivity.
      - auto.
      - right; eexists; split; [reflexivity|exact M1].
      - intros r [<-|I]; [eexists; exact M1|exact (ev_known _ EV r I)].
      - apply (in_order_more s); [apply EV|exact M3|]. destruct A as [-> | ->]; discriminate.
      - intros A' i N. assert (i = id) as -> by (change (now s e i) in N; unfold now in *; congruence).
        cbn [records note mem at_pc]; unfold transitions.
        rewrite (of_id_here (Event e a' id w n)); cbn [filter r_id].
        replace (is_transition (Event e a' id w n)) with false by (destruct A as [-> | ->]; reflexivity).
        split; [exact C1|]. intros r [<-|I]; [cbn; lia|exact (C2 r I)].
      - intros _; cbn [work note at_pc]; rewrite upd_here; cbn [pc]; destruct p; try discriminate; exact I. }
    destruct b; injection G as <-.
    + apply events_at_pc; [assumption|]. split; [split; auto|congruence].
    + apply NOTE; auto.
    + apply NOTE; auto.
  - (* TCounted *)
    injection G as <-. destruct P as [H _], M as ((M1 & M2 & M3) & M4).
    destruct (ev_counted _ EV e) with (i := id) as [C1 C2]; [rewrite H; reflexivity|exact M1|].
    apply (events_step s _ t e); [assumption|assumption|right; assumption|..].
    + intros t' N; apply upd_other; assumption.
    + intros e' g N; apply (put_mem s t e Events (S w) (life s e) (TAfter e)); congruence.
    + auto.
    + right; eexists; split; [reflexivity|exact M1].
    + intros r [<-|I]; [eexists; exact M1|exact (ev_known _ EV r I)].
    + apply (in_order_more s); [apply EV|exact M3|]. intros _; cbn [r_number r_id]; congruence.
    + intros A i N. assert (i = id) as -> by (change (now s e i) in N; unfold now in *; congruence).
      change (mem (note ?x ?y)) with (mem x).
      rewrite put_newest, put_newest_other by discriminate.
      cbn [records note put store]; unfold transitions in *.
      rewrite (of_id_here (Event e Transition id w n)); cbn [filter is_transition r_kind r_id length].
      split; [congruence|]. intros r [<-|I]; [cbn; lia|exact (C2 r I)].
    + intros _; cbn [work note put store]; rewrite upd_here; exact I.
  - (* TAfter *)
    destruct (may_put fields f v) eqn:B; [|discriminate]; injection G as <-.
    unfold may_put in B. apply andb_true_iff in B; destruct B as [B _].
    apply andb_true_iff in B; destruct B as [B B2]; apply andb_true_iff in B; destruct B as [_ B1].
    apply negb_true_iff, Nat.eqb_neq in B1; apply negb_true_iff, Nat.eqb_neq in B2.
    apply PUT; [right; apply P|assumption|assumption|exact I].
  - (* TZero *)
    cbn [store] in G; injection G as <-.
    apply (events_step s _ t e); [assumption|assumption|right; assumption|..];
      cbn [work mem lives holder records].
    + intros t' N; apply upd_other; assumption.
    + intros; apply append_other; discriminate.
    + intros e' N; split; [reflexivity|apply upd_other; assumption].
    + left; reflexivity.
    + exact (ev_known _ EV).
    + exact (ev_order _ EV).
    + intro A; cbn [holder] in A; rewrite upd_here in A; discriminate.
    + rewrite upd_here; intros; exact I.
  - (* TZeroState *)
    injection G as <-. destruct P as [H _]. apply PUT; [left; exact H|discriminate|discriminate|exact I].
  - (* TRead *) injection G as <-; apply events_at_pc; [assumption|]. destruct (w =? 0); exact I.
  - (* TCopy *) injection G as <-; apply events_at_pc; [assumption|].
    destruct (S (length got) <? fields); exact I.
  - (* TReadFence *) injection G as <-; apply events_at_pc; [assumption|exact I].
  - (* TCheck *)
    injection G as <-. assert (E1 : events_ok (at_pc s t h TIdle)) by (apply events_at_pc; [assumption|exact I]).
    destruct (accepts w id got); [|exact E1].
    destruct E1 as [A1 A2 A3 A4]; constructor; [exact A1|exact A2|exact A3|exact A4].
Qed.

Lemma events_next : forall s c s', state_ok s -> events_ok s ->
  step fields o s c = Some s' -> events_ok s'.
Proof.
  intros s c s' OK EV H; unfold step in H. destruct (dead (work s (actor c))) eqn:D; [discriminate|].
  destruct c as [t a f v|t n|t e b|t e|t e|t]; cbn [actor] in D.
  - eapply events_go; eauto.
  - pose proof (ev_makes _ EV t D) as M. unfold next in H.
    destruct (pc (work s t)); try discriminate; injection H as <-; apply events_at_pc; auto; exact I.
  - unfold start in H; destruct (pc (work s t)); try discriminate; destruct b, (holder s e);
      try discriminate; try (destruct (t =? t0); [|discriminate]); injection H as <-;
      apply events_at_pc; auto; exact I.
  - unfold give in H; destruct (pc (work s t)); try discriminate; destruct (holder s e) eqn:HE;
      try discriminate; (destruct (t =? t0); [|discriminate]); injection H as <-;
      (apply (events_same s _ t); auto; cbn [work holder pass];
       [intro e'; unfold upd; destruct (Nat.eqb_spec e e') as [<-|]; [rewrite HE|]; auto
       |intros; apply upd_other; assumption|rewrite upd_here; intros; exact I]).
  - unfold take in H; destruct (pc (work s t)); try discriminate; destruct (holder s e) eqn:HE;
      try discriminate; try (destruct (dead (work s t0)); [|discriminate]); injection H as <-;
      (apply (events_same s _ t); auto; cbn [work holder pass];
       [intro e'; unfold upd; destruct (Nat.eqb_spec e e') as [<-|]; [rewrite HE|]; auto
       |intros; apply upd_other; assumption|rewrite upd_here; intros; exact I]).
  - injection H as <-. apply (events_same s _ t); auto; cbn [work die].
    + intros; apply upd_other; assumption.
    + rewrite upd_here; discriminate.
Qed.

Lemma reachable_events : forall s, reachable fields o s -> events_ok s.
Proof.
  intros s [cs H].
  assert (E0 : events_ok state0).
  { constructor.
    - intros r [].
    - intro i; split; [constructor|reflexivity].
    - intros e A; discriminate.
    - intros t _; exact I. }
  pose proof (state_ok0 fields some_fields o) as S0; revert H E0 S0; generalize state0 as s0.
  induction cs as [|c cs IH]; cbn; intros s0 H E0 OK; [congruence|].
  destruct (step fields o s0 c) as [s1|] eqn:E; [|discriminate].
  eapply IH; [exact H|eapply events_next; eauto|eapply step_ok; eauto].
Qed.

(* ---- what is proven -------------------------------------------------------------------------- *)

(* Every event has the id of the coroutine that was in its entry, never that of the one before
   or after it. *)
Theorem events_name_their_life : forall s r, reachable fields o s -> In r (records s) ->
  exists k, nth_error (lives s (r_entry r)) k = Some (r_id r).
Proof. intros s r R I; exact (ev_known _ (reachable_events s R) r I). Qed.

(* The events of a coroutine, the latest first, whichever threads made them: their times increase
   (also across threads whose counters differ), and its transitions are numbered 0, 1, 2, ... *)
Theorem events_across_threads : forall s i, reachable fields o s ->
  StronglySorted later (of_id i (records s))
  /\ map r_number (transitions i (records s)) = rev (seq 0 (length (transitions i (records s)))).
Proof. intros s i R; exact (ev_order _ (reachable_events s R) i). Qed.

End Events.
