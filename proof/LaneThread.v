(* SPDX-License-Identifier: MIT *)
(* LaneThread.v - each step of a thread keeps the invariant of its own lane. *)
Require Import Arith List Lia Bool Cantor.
Require Import Memory Lane LaneInv.
Import ListNotations.

Section Steps.

Variable room limit : nat.
Variable event : nat -> nat -> item.
Hypothesis some_room : 0 < room.
Hypothesis honest : forall l k, event_ok room (event l k).

Notation lane_ok := (LaneInv.lane_ok room event).
Notation cover_upto := (LaneInv.cover_upto room).
Notation pc_ok := (LaneInv.pc_ok room event).

Ltac fields :=
  repeat match goal with
  | |- context [log (at_pc ?p ?a ?b)] => change (log (at_pc p a b)) with (log p)
  | |- context [log (link_chunk ?p ?a ?b)] => change (log (link_chunk p a b)) with (log p)
  | |- context [log (count_drop ?p ?a)] => change (log (count_drop p a)) with (log p)
  | |- context [log (count_homeless ?p ?a)] => change (log (count_homeless p a)) with (log p)
  | |- context [log (pdie ?p)] => change (log (pdie p)) with (log p)
  end;
  cbn [pth pc dead chain items events gap dropped homeless at_pc link_chunk published count_drop
    count_homeless pdie holds].

Lemma concat_firstn : forall (h : list item) t, length (concat (firstn t h)) <= length (concat h).
Proof. clear some_room honest.
  intros h t; rewrite <- (firstn_skipn t h) at 2; rewrite concat_app, app_length; lia.
Qed.

(* A place that is i records further, in the same chunk. *)
Lemma further : forall n i, n mod room + i < room ->
  (n + i) / room = n / room /\ (n + i) mod room = n mod room + i.
Proof.
  intros n i H; pose proof (Nat.div_mod n room ltac:(lia)) as DM.
  assert (E : n + i = n / room * room + (n mod room + i)) by lia.
  split.
  - rewrite E, Nat.div_add_l, (Nat.div_small (n mod room + i)) by lia; lia.
  - rewrite E, Nat.add_comm, Nat.mod_add, Nat.mod_small by lia; reflexivity.
Qed.

Lemma store_covers : forall o x v (m : memory) th m' th',
  store o x v m th = (m', th') ->
  forall y, covers m (cur th) y -> covers m' (cur th') y.
Proof.
  intros o x v m th m' th' E y C; unfold store in E; inversion E; subst; clear E; cbn.
  destruct (place_eqb_spec x y) as [->|N].
  - apply covers_new; unfold join; rewrite at_here; lia.
  - eapply covers_same; [apply append_other; assumption|].
    eapply covers_mono; [apply join_l|]; assumption.
Qed.

Lemma cover_append : forall (m : memory) ch g v t x y,
  cover_upto m ch g v t ->
  (forall j c i w, nth_error ch j = Some c -> g <= j -> x = Word c i w -> t <= room * j + i) ->
  (forall j c, nth_error ch j = Some c -> g <= j -> x = Link c -> t <= room * S j) ->
  cover_upto (append m x y) ch g v t.
Proof.
  intros m ch g v t x y C HW HL j c N G; destruct (C j c N G) as [C1 C2]; split.
  - intros i w I T; destruct (place_eqb_spec x (Word c i w)) as [E|E].
    + specialize (HW _ _ _ _ N G E); lia.
    + eapply covers_same; [apply append_other; assumption|]; auto.
  - intro T; destruct (place_eqb_spec x (Link c)) as [E|E].
    + specialize (HL _ _ N G E); lia.
    + eapply covers_same; [apply append_other; assumption|]; auto.
Qed.

Lemma cover_extend : forall (m : memory) ch g v t c, t <= room * length ch ->
  cover_upto m ch g v t -> cover_upto m (ch ++ [c]) g v t.
Proof.
  intros m ch g v t c T C j c' N G.
  destruct (Nat.lt_ge_cases j (length ch)) as [L|L].
  - rewrite nth_error_app1 in N by assumption; apply (C j c' N G).
  - assert (room * length ch <= room * j) by (apply Nat.mul_le_mono_l; assumption).
    split; [intros|]; lia.
Qed.

Lemma nth_app_last : forall (A : Type) (h : list A) x n y,
  nth_error (h ++ [x]) n = Some y ->
  nth_error h n = Some y \/ (n = length h /\ y = x).
Proof.
  intros A h x n y H; destruct (Nat.lt_ge_cases n (length h)) as [L|L].
  - rewrite nth_error_app1 in H by assumption; auto.
  - rewrite nth_error_app2 in H by assumption.
    destruct (n - length h) as [|d] eqn:E; simpl in H.
    + right; split; [lia|congruence].
    + destruct d; discriminate.
Qed.

Lemma head_le : forall m own l p u v t x, lane_ok m own l p u v ->
  nth_error (m (Head l)) t = Some x -> val x <= length (log p).
Proof.
  intros m own l p u v t x K H; rewrite (proj2 (lk_head _ _ _ _ _ _ _ _ K) _ _ H).
  apply concat_firstn.
Qed.

Lemma not_closed : forall m own l p u v x, lane_ok m own l p u v -> pc p <> PEnd ->
  nth_error (m (State l)) 2 = Some x -> False.
Proof.
  intros m own l p u v x K E H; apply nth_lt in H.
  rewrite (proj2 (lk_state _ _ _ _ _ _ _ _ K)) in H; unfold phase in H.
  destruct (chain p); [lia|destruct (pc p); try congruence; lia].
Qed.

Lemma not_orphan : forall m own l p u v, lane_ok m own l p u v -> dead p = false ->
  pc p <> PEnd -> orphan u = false /\ heard u = false.
Proof.
  intros m own l p u v K D E; split.
  - destruct (orphan u) eqn:O; auto.
    destruct (lk_orphan _ _ _ _ _ _ _ _ K O) as ([X|X] & _); congruence.
  - destruct (heard u) eqn:O; auto.
    destruct (lk_heard _ _ _ _ _ _ _ _ K O); congruence.
Qed.

Lemma phase_at : forall p th c, pc p <> PEnd -> c <> PEnd -> phase (at_pc p th c) = phase p.
Proof. intros p th c E N; unfold phase; cbn; destruct (chain p), (pc p), c; congruence. Qed.

Lemma apart_append : forall (m : memory) own l x y, chunk_of x = None -> lane_of x = None ->
  apart m (append m x y) own own l.
Proof.
  intros m own l x y C L; repeat split; auto; intros; apply append_other; congruence.
Qed.

(* Nothing is stored. *)
Lemma lane_silent : forall m own l p u v th c, lane_ok m own l p u v -> pc p <> PEnd ->
  (forall x, cur (pth p) x <= cur th x) -> holds c = holds (pc p) -> c <> PEnd ->
  (dead p = false -> pc_ok m l (at_pc p th c)) ->
  lane_ok m own l (at_pc p th c) u v.
Proof.
  intros m own l p u v th c K E V H N P; destruct K; constructor; fields; intros; eauto.
  - rewrite H; auto.
  - eapply covers_mono; [apply V|]; eauto.
  - eapply covers_mono; [apply V|]; eauto.
  - rewrite phase_at by assumption; assumption.
  - destruct (lk_orphan H0) as ([X|X] & Y); [|congruence]; split; [left|]; assumption.
Qed.

(* It has taken a chunk, which no other has. *)
Lemma lane_got : forall m own l p u v th c, lane_ok m own l p u v -> pc p <> PEnd ->
  (forall x, cur (pth p) x <= cur th x) -> holds (pc p) = None -> is_full room p ->
  own c = Fresh \/ own c = Stacked ->
  (forall x, chunk_of x = Some c -> covers m (cur th) x) ->
  lane_ok m (set_owner own c (Popped l)) l (at_pc p th (PGot c)) u v.
Proof.
  intros m own l p u v th c K E V H F O C; destruct K; constructor; fields; intros; eauto.
  - unfold set_owner; destruct (Nat.eqb_spec c c0) as [->|X]; [split; congruence|].
    rewrite lk_popped, H; split; congruence.
  - unfold set_owner; destruct (Nat.eqb_spec c c0) as [->|X]; [|auto].
    rewrite <- lk_linked; split; [discriminate|intro]; destruct O; congruence.
  - unfold set_owner in H1; destruct (Nat.eqb_spec c c0) as [->|X]; [auto|].
    eapply covers_mono; [apply V|]; eauto.
  - eapply covers_mono; [apply V|]; eauto.
  - rewrite phase_at by (assumption || discriminate); assumption.
  - destruct (lk_orphan H0) as ([X|X] & Y); [|congruence]; split; [left|]; assumption.
Qed.

(* ---- stores ------------------------------------------------------------------------ *)

(* A store elsewhere. *)
Ltac other := rewrite append_other by (intro; congruence).

Lemma store_spec : forall o x v (m : memory) th m' th', store o x v m th = (m', th') ->
  exists y, m' = append m x y /\ val y = v
    /\ (forall z, cur th z <= cur th' z) /\ rel th' = rel th
    /\ (o = Ordered -> forall z, covers m (cur th) z -> covers m' (carries y) z).
Proof. clear some_room honest.
  intros o x v m th m' th' E; unfold store in E; inversion E; subst; clear E.
  eexists; split; [reflexivity|]; cbn; repeat split; auto.
  - intro; apply join_l.
  - intros -> z C; destruct (place_eqb_spec x z) as [->|N].
    + apply covers_new; unfold join; rewrite at_here; lia.
    + eapply covers_same; [apply append_other; assumption|].
      eapply covers_mono; [apply join_l|]; assumption.
Qed.

(* What most stores leave as it is. *)
Ltac unchanged CO NCL :=
  fields; try assumption; rewrite ?phase_at by (assumption || discriminate); intros;
  try (exfalso; eapply NCL; eassumption);
  try (eapply CO; eauto; fail);
  try match goal with H : nth_error (append _ _ _ _) _ = _ |- _ =>
    rewrite append_other in H by discriminate end;
  try (rewrite append_other by discriminate; assumption);
  try (rewrite newest_other by congruence);
  try (rewrite append_other by discriminate; split;
       match goal with H : counts _ _ /\ _ |- _ =>
         solve [eapply counts_same; [apply append_other; discriminate|exact (proj1 H)]
               |exact (proj2 H)] end);
  try (eapply covers_same; [apply append_other; congruence|]);
  eauto 4; try congruence.

Ltac begin_store K D E ST :=
  pose proof some_room as SR; pose proof honest as HO;
  assert (NE : pc _ <> PEnd) by (rewrite E; discriminate);
  pose proof (not_orphan _ _ _ _ _ _ K D NE) as (NO & NH);
  match type of K with LaneInv.lane_ok _ _ _ _ _ ?p ?u _ =>
    assert (AG : given u <= length (chain p) - 1) by (eapply alive_given; eauto) end;
  pose proof (store_covers _ _ _ _ _ _ _ ST) as CO;
  pose proof (store_spec _ _ _ _ _ _ _ ST) as (y & -> & VY & MONO & _ & REL);
  pose proof (fun t x => head_le _ _ _ _ _ _ t x K) as HL;
  pose proof (fun x => not_closed _ _ _ _ _ _ x K NE) as NCL;
  pose proof (lk_bounds _ _ _ _ _ _ _ _ K) as BO;
  pose proof (lk_pc _ _ _ _ _ _ _ _ K D) as PC; unfold LaneInv.pc_ok in PC; rewrite E in PC.

Ltac goals := match goal with |- ?g => idtac "GOAL" g end.

(* The link of a chunk that is not yet in the lane. *)
Lemma lane_clear : forall m own l p u v m' th' c c', lane_ok m own l p u v ->
  dead p = false -> pc p = PGot c ->
  c' = match chain p with [] => PFirst c | _ => PLinkTo c end ->
  store Relaxed (Link c) 0 m (pth p) = (m', th') ->
  lane_ok m' own l (at_pc p th' c') u v.
Proof.
  intros m own l p u v m' th' c c' K D E C' ST; begin_store K D E ST.
  assert (OC : own c = Popped l) by (apply (lk_popped _ _ _ _ _ _ _ _ K); rewrite E; reflexivity).
  assert (NC : forall j c0, nth_error (chain p) j = Some c0 -> given u <= j -> c <> c0).
  { intros j c0 N G ->; assert (own c0 = Linked l j) by (apply (lk_linked _ _ _ _ _ _ _ _ K); auto).
    congruence. }
  assert (HC : holds c' = Some c) by (rewrite C'; destruct (chain p); reflexivity).
  assert (NE' : c' <> PEnd) by (rewrite C'; destruct (chain p); discriminate).
  assert (CU : forall w t, cover_upto m (chain p) (given u) w t ->
                 cover_upto (append m (Link c) y) (chain p) (given u) w t).
  { intros w t C; apply cover_append; [assumption|discriminate|].
    intros j c0 N G X; injection X as X; exfalso; eapply NC; eauto. }
  destruct K; constructor; unchanged CO NCL.
  - rewrite lk_popped, HC, E; reflexivity.
  - rewrite newest_other; eauto. intro X; injection X; eapply NC; eauto.
  - unfold LaneInv.pc_ok; cbn; rewrite C'; unfold is_full in *; cbn.
    destruct (chain p) eqn:CH; rewrite newest_append; repeat split; auto; discriminate.
Qed.

Lemma lane_first : forall m own l p u v m' th' c, lane_ok m own l p u v ->
  dead p = false -> pc p = PFirst c ->
  store Relaxed (First l) (S c) m (pth p) = (m', th') ->
  lane_ok m' own l (at_pc p th' (POpen c)) u v.
Proof.
  intros m own l p u v m' th' c K D E ST; begin_store K D E ST.
  destruct PC as (CH & LN).
  assert (CU : forall w t, cover_upto m (chain p) (given u) w t ->
                 cover_upto (append m (First l) y) (chain p) (given u) w t).
  { intros w t C; apply cover_append; [assumption|discriminate|discriminate]. }
  destruct K; constructor; unchanged CO NCL.
  - rewrite lk_popped, E; reflexivity.
  - apply nth_lt in H; rewrite (proj2 lk_state) in H; unfold phase in H; rewrite E, CH in H; lia.
  - rewrite CH in H; discriminate.
  - unfold LaneInv.pc_ok; cbn; rewrite newest_append; repeat split; auto.
Qed.

(* Where record i of what is written now goes. *)
Lemma at_record_own : forall m own l p u v i, lane_ok m own l p u v -> dead p = false ->
  pc p <> PEnd -> length (log p) < room * length (chain p) -> length (log p) mod room + i < room ->
  exists c, nth_error (chain p) (length (log p) / room) = Some c
    /\ nth (length (log p) / room) (chain p) 0 = c
    /\ given u <= length (log p) / room /\ own c = Linked l (length (log p) / room).
Proof.
  intros m own l p u v i K D NE R F.
  assert (N : nth_error (chain p) (length (log p) / room) = Some (nth (length (log p) / room) (chain p) 0)).
  { apply nth_error_nth'; apply Nat.div_lt_upper_bound; lia. }
  assert (G : given u <= length (log p) / room).
  { etransitivity; [eapply alive_given; eauto|]; apply Nat.div_le_lower_bound; [lia|].
    apply (lk_used _ _ _ _ _ _ _ _ K). }
  eexists; split; [exact N|]; split; [reflexivity|]; split; [assumption|].
  apply (lk_linked _ _ _ _ _ _ _ _ K); auto.
Qed.

(* A word of a record. *)
Lemma lane_put : forall m own l p u v m' th' pad i w c', lane_ok m own l p u v ->
  dead p = false -> pc p = PPut pad i w ->
  store Relaxed (at_record room p i w) (nth w (nth i (writing event pad l p) []) 0) m (pth p)
    = (m', th') ->
  c' = (if S w <? words then PPut pad i (S w)
        else if S i <? length (writing event pad l p) then PPut pad (S i) 0 else PPublish pad) ->
  lane_ok m' own l (at_pc p th' c') u v.
Proof.
  intros m own l p u v m' th' pad i w c' K D E ST C'; begin_store K D E ST.
  destruct PC as (W & I & R & F & PO).
  destruct (at_record_own _ _ _ _ _ _ i K D NE R ltac:(lia)) as (c & N & CN & G & OC).
  unfold at_record in *; rewrite CN in *; set (n := length (log p)) in *.
  pose proof (Nat.div_mod n room) as DM; specialize (DM ltac:(lia)).
  assert (CU : forall v t, t <= n -> cover_upto m (chain p) (given u) v t ->
     cover_upto (append m (Word c (n mod room + i) w) y) (chain p) (given u) v t).
  { intros v' t T C; apply cover_append; [assumption| |discriminate].
    intros j c0 i0 w0 N0 G0 X; injection X as X1 X2 X3.
    assert (O' : own c0 = Linked l j) by (apply (lk_linked _ _ _ _ _ _ _ _ K); auto).
    rewrite <- X1, OC in O'; injection O' as O'; subst; lia. }
  assert (NE' : c' <> PEnd)
    by (rewrite C'; destruct (S w <? words); [|destruct (_ <? _)]; discriminate).
  assert (HD : holds c' = None)
    by (rewrite C'; destruct (S w <? words); [|destruct (_ <? _)]; reflexivity).
  destruct K; constructor; unchanged CO NCL.
  - rewrite lk_popped, HD, E; reflexivity.
  - rewrite newest_other; [eauto|]. intro X; injection X as X1 X2 X3.
    assert (O' : own c0 = Linked l (n0 / room)) by (apply lk_linked; auto).
    rewrite <- X1, OC in O'; injection O' as O'.
    assert (n0 < n) by (apply nth_error_Some; congruence).
    pose proof (Nat.div_mod n0 room) as DM0; specialize (DM0 ltac:(lia)).
    rewrite <- O', <- X2 in DM0; lia.
  - unfold LaneInv.pc_ok; cbn [pc at_pc].
    assert (P : forall i' w', w' < words -> i' < i \/ i' = i /\ w' < S w ->
      newest (append m (Word c (n mod room + i) w) y) (Word c (n mod room + i') w')
        = nth w' (nth i' (writing event pad l p) []) 0).
    { intros i' w' W' X; destruct (Nat.eq_dec i' i) as [->|NI]; [destruct (Nat.eq_dec w' w) as [->|NW]|].
      - rewrite newest_append; assumption.
      - rewrite newest_other by (intro Z; injection Z; lia); apply PO; [assumption|lia].
      - rewrite newest_other by (intro Z; injection Z; lia); apply PO; [assumption|lia]. }
    assert (Q : forall i0 w0, (forall i' w', w' < words -> i' < i0 \/ i' = i0 /\ w' < w0 ->
                  i' < i \/ i' = i /\ w' < S w) ->
      put_ok room event (append m (Word c (n mod room + i) w) y) l p pad i0 w0).
    { intros i0 w0 X; split; [exact R|]; split; [exact F|]. intros i' w' W' Y; unfold at_record.
      fold n; rewrite CN; apply P; auto. }
    rewrite C'; destruct (Nat.ltb_spec (S w) words) as [L|L].
    + split; [assumption|]; split; [assumption|]. refine (Q _ _ _); intros; lia.
    + destruct (Nat.ltb_spec (S i) (length (writing event pad l p))) as [J|J].
      * split; [unfold words; lia|]; split; [assumption|]. refine (Q _ _ _); intros; lia.
      * refine (Q _ _ _); intros i' w' W' X.
        change (length (writing event pad l (at_pc p th' (PPublish pad))))
          with (length (writing event pad l p)) in X; lia.
  - apply CU; [lia|assumption].
Qed.

(* The first chunk: the lane is open. *)
Lemma lane_open : forall m own l p u v m' th' c, lane_ok m own l p u v ->
  dead p = false -> pc p = POpen c ->
  store Ordered (State l) 1 m (pth p) = (m', th') ->
  lane_ok m' (set_owner own c (Linked l 0)) l (link_chunk p th' c) u v.
Proof.
  intros m own l p u v m' th' c K D E ST; begin_store K D E ST.
  destruct PC as (CH & LN & FI).
  assert (LG : log p = []).
  { pose proof (lk_long _ _ _ _ _ _ _ _ K) as L; rewrite CH in L; cbn in L.
    destruct (log p); [reflexivity|cbn in L; lia]. }
  assert (OC : own c = Popped l) by (apply (lk_popped _ _ _ _ _ _ _ _ K); rewrite E; reflexivity).
  assert (G0 : given u = 0) by (rewrite CH in AG; cbn in AG; lia).
  assert (CU : forall w t, t = 0 ->
                 cover_upto (append m (State l) y) ([] ++ [c]) (given u) w t).
  { intros w t -> j c' _ _; split; intros; lia. }
  assert (FR : covers m (cur (pth p)) (First l)) by (apply (lk_mine _ _ _ _ _ _ _ _ K); reflexivity).
  specialize (REL eq_refl).
  destruct K; constructor; unchanged CO NCL.
  - unfold set_owner; destruct (Nat.eqb_spec c c0) as [->|X]; [split; discriminate|].
    rewrite lk_popped, E; cbn; split; congruence.
  - rewrite CH; unfold set_owner; destruct (Nat.eqb_spec c c0) as [->|X].
    + destruct j as [|[|j]]; cbn; split; intro Z; try (destruct Z; discriminate);
        try discriminate; [split; [reflexivity|lia]|reflexivity].
    + rewrite lk_linked, CH; destruct j as [|[|j]]; cbn; split; intros [Z1 Z2]; congruence.
  - apply CO; unfold set_owner in H0; destruct (Nat.eqb_spec c c0) as [->|X]; eauto.
  - rewrite CH in *; destruct j as [|[|j]]; cbn in *; try discriminate.
    injection H as <-; assumption.
  - rewrite LG; cbn; lia.
  - rewrite CH, LG; cbn; lia.
  - rewrite LG in H; destruct n; discriminate.
  - rewrite CH; apply CU; apply HL in H; rewrite LG in H; cbn in H; lia.
  - assert (L1 : length (m (State l)) = 1)
      by (rewrite (proj2 lk_state); unfold phase; rewrite E, CH; reflexivity).
    split; [apply counts_append; [apply lk_state|lia]|].
    rewrite append_here, app_length, L1; unfold phase; cbn; rewrite CH; reflexivity.
  - apply append_nth in H; destruct H as [H|(_ & _ & ->)]; [eauto|].
    specialize (REL _ FR); unfold covers in *; rewrite append_other in REL by discriminate.
    assumption.
  - exfalso; apply nth_lt in H; rewrite append_here, app_length, (proj2 lk_state) in H.
    unfold phase in H; rewrite E, CH in H; cbn in H; lia.
  - rewrite CH in H; injection H as <-; assumption.
  - exact I.
  - destruct lk_adopted as (rest & EQ); rewrite CH in EQ.
    destruct (adopted u); [|discriminate]. exists [c]; rewrite CH; reflexivity.
  - rewrite CH; apply CU; rewrite LG in BO; cbn in BO; lia.
Qed.

(* Another chunk. *)
Lemma lane_link : forall m own l p u v m' th' c, lane_ok m own l p u v ->
  dead p = false -> pc p = PLinkTo c ->
  store Relaxed (Link (last (chain p) 0)) (S c) m (pth p) = (m', th') ->
  lane_ok m' (set_owner own c (Linked l (length (chain p)))) l (link_chunk p th' c) u v.
Proof.
  intros m own l p u v m' th' c K D E ST; begin_store K D E ST.
  destruct PC as (FU & CH & LN).
  destruct (@exists_last _ (chain p) CH) as (ch & b & EC).
  assert (LB : last (chain p) 0 = b) by (rewrite EC; apply last_last).
  rewrite LB in *.
  assert (LC : length (chain p) = S (length ch)) by (rewrite EC, app_length; cbn; lia).
  assert (NB : nth_error (chain p) (length ch) = Some b).
  { rewrite EC, nth_error_app2, Nat.sub_diag by lia; reflexivity. }
  assert (OB : own b = Linked l (length ch)) by (apply (lk_linked _ _ _ _ _ _ _ _ K); split; [auto|lia]).
  assert (OC : own c = Popped l) by (apply (lk_popped _ _ _ _ _ _ _ _ K); rewrite E; reflexivity).
  assert (NCB : b <> c) by congruence.
  assert (ONE : forall j, nth_error (chain p) j = Some b -> given u <= j -> j = length ch).
  { intros j N G; assert (own b = Linked l j) by (apply (lk_linked _ _ _ _ _ _ _ _ K); auto); congruence. }
  unfold is_full in FU.
  assert (CU : forall w t, t <= length (log p) -> cover_upto m (chain p) (given u) w t ->
                 cover_upto (append m (Link b) y) (chain p ++ [c]) (given u) w t).
  { intros w t T C; apply cover_extend; [lia|]. apply cover_append; [assumption|discriminate|].
    intros j c0 N G X; injection X as <-; rewrite (ONE j N G); lia. }
  destruct K; constructor; unchanged CO NCL.
  - unfold set_owner; destruct (Nat.eqb_spec c c0) as [->|X]; [split; discriminate|].
    rewrite lk_popped, E; cbn; split; congruence.
  - unfold set_owner; destruct (Nat.eqb_spec c c0) as [<-|X].
    + split.
      * intro Z; injection Z as <-; split; [|lia].
        rewrite nth_error_app2, Nat.sub_diag by lia; reflexivity.
      * intros [N G]; apply nth_app_last in N; destruct N as [N|[-> _]]; [|reflexivity].
        assert (own c = Linked l j) by (apply lk_linked; auto); congruence.
    + rewrite lk_linked; split; intros [N G]; split; auto.
      * rewrite nth_error_app1; [assumption|]. apply nth_error_Some; congruence.
      * apply nth_app_last in N; destruct N as [N|[_ Z]]; [assumption|congruence].
  - apply CO; unfold set_owner in H0; destruct (Nat.eqb_spec c c0) as [->|X]; eauto.
  - apply nth_app_last in H; destruct H as [N|[-> ->]].
    + destruct (Nat.eq_dec j (length ch)) as [->|J].
      * rewrite NB in N; injection N as <-; rewrite newest_append, <- LC.
        rewrite nth_error_app2, Nat.sub_diag by lia; assumption.
      * assert (j < length (chain p)) by (apply nth_error_Some; congruence).
        rewrite newest_other, nth_error_app1 by (congruence || lia || (intro Z; injection Z as <-; apply J; auto)).
        eauto.
    + rewrite newest_other, LN by congruence.
      replace (nth_error (chain p ++ [c]) (S (length (chain p)))) with (@None nat); [reflexivity|].
      symmetry; apply nth_error_None; rewrite app_length; cbn; lia.
  - rewrite app_length; cbn; rewrite Nat.mul_add_distr_l; lia.
  - rewrite app_length; cbn; replace (length (chain p) + 1 - 1) with (length (chain p)) by lia; lia.
  - assert (NL : n < length (log p)) by (apply nth_error_Some; congruence).
    assert (n / room < length (chain p)) by (apply Nat.div_lt_upper_bound; lia).
    rewrite nth_error_app1 in H0 by assumption; eauto.
  - rewrite append_other by discriminate.
    replace (phase (link_chunk p th' c)) with (phase p).
    + split; [eapply counts_same; [apply append_other; discriminate|]|]; apply lk_state.
    + unfold phase; cbn; rewrite E; destruct (chain p); [congruence|reflexivity].
  - rewrite nth_error_app1 in H by lia; auto.
  - exact I.
  - destruct lk_adopted as (rest & EQ); exists (rest ++ [c]); rewrite EQ, app_assoc; reflexivity.
  - apply CU; [lia|assumption].
Qed.

Lemma now_ok : forall l p, 0 < length (now event l p) /\ (forall r, In r (now event l p) -> length r = words)
  /\ padding (now event l p) = false /\ S (followers (hd [] (now event l p))) = length (now event l p).
Proof.
  intros l p; unfold now; destruct (gap p =? 0).
  - destruct (honest l (events p)) as (A & B & C & _ & D); repeat split; auto; lia.
  - cbn; repeat split; auto. intros r [<-|[]]; reflexivity.
Qed.

(* The rest of a chunk, whose first record is the padding. *)
Lemma rest_of_length : forall m p, length (rest_of room m p) = room - length (log p) mod room.
Proof. intros; unfold rest_of; rewrite map_length, seq_length; reflexivity. Qed.

Lemma rest_of_nth : forall m p i r w, nth_error (rest_of room m p) i = Some r -> w < words ->
  nth w r 0 = newest m (at_record room p i w).
Proof.
  intros m p i r w N W.
  assert (L : i < room - length (log p) mod room).
  { rewrite <- (rest_of_length m p); apply nth_error_Some; congruence. }
  unfold rest_of in N.
  rewrite nth_error_map, (nth_error_nth' _ 0) in N by (rewrite seq_length; assumption).
  rewrite seq_nth in N by assumption; cbn [Nat.add option_map] in N; injection N as <-.
  do 4 (destruct w as [|w]; [reflexivity|]). unfold words in W; lia.
Qed.

Lemma rest_of_words : forall m p r, In r (rest_of room m p) -> length r = words.
Proof.
  intros m p r I; unfold rest_of in I; apply in_map_iff in I; destruct I as (i & <- & _).
  rewrite map_length, seq_length; reflexivity.
Qed.

Lemma whole_ok : forall m l p pad, put_ok room event m l p pad (length (writing event pad l p)) 0 ->
  item_ok room (length (log p)) (whole room event pad l m p)
  /\ padding (whole room event pad l m p) = pad
  /\ length (log p) + length (whole room event pad l m p) <= room * length (chain p)
  /\ forall i r w, nth_error (whole room event pad l m p) i = Some r -> w < words ->
       newest m (at_record room p i w) = nth w r 0.
Proof.
  intros m l p pad (R & F & PO); pose proof (now_ok l p) as (N1 & N2 & N3 & N4).
  pose proof (Nat.mod_upper_bound (length (log p)) room ltac:(lia)) as MB.
  pose proof (Nat.div_mod (length (log p)) room ltac:(lia)) as DM.
  assert (DL : length (log p) / room < length (chain p)) by (apply Nat.div_lt_upper_bound; lia).
  assert (room * S (length (log p) / room) <= room * length (chain p)) by (apply Nat.mul_le_mono_l; lia).
  assert (BND : forall k, length (log p) mod room + k <= room -> length (log p) + k <= room * length (chain p))
    by (intros; lia).
  destruct pad; cbv beta iota delta [whole writing] in *.
  - pose proof (rest_of_length m p) as RL.
    assert (PD : padding (rest_of room m p) = true).
    { unfold padding; destruct (rest_of room m p) as [|r it] eqn:E; [cbn in RL; lia|]. cbn [hd].
      unfold is_pad. rewrite (rest_of_nth m p 0 r 0) by (rewrite ?E; unfold words; auto; lia).
      rewrite PO by (unfold words; cbn; lia). reflexivity. }
    split; [|split; [exact PD|split; [apply BND; lia|]]].
    + split; [lia|]; split; [lia|]; split; [apply rest_of_words|]. rewrite PD; lia.
    + intros i r w N W; symmetry; apply rest_of_nth; assumption.
  - split; [|split; [exact N3|split; [apply BND; lia|]]].
    + split; [lia|]; split; [lia|]; split; [exact N2|]. rewrite N3; exact N4.
    + intros i r w N W. assert (i < length (now event l p)) by (apply nth_error_Some; congruence).
      rewrite PO by (try assumption; lia). f_equal; apply nth_error_nth; exact N.
Qed.

(* The head. *)
Lemma lane_publish : forall m own l p u v m' th' pad, lane_ok m own l p u v ->
  dead p = false -> pc p = PPublish pad ->
  store Ordered (Head l) (length (log p) + length (whole room event pad l m p)) m (pth p) = (m', th') ->
  lane_ok m' own l (published p pad (whole room event pad l m p) th') u v.
Proof.
  intros m own l p u v m' th' pad K D E ST; begin_store K D E ST.
  destruct (whole_ok _ _ _ _ PC) as (IO & PD & BD & WO).
  set (it := whole room event pad l m p) in *.
  assert (LG : log (published p pad it th') = log p ++ it).
  { unfold log; cbn; rewrite concat_app; cbn; rewrite app_nil_r; reflexivity. }
  assert (FI : forall t, t <= length (items p) -> firstn t (items p ++ [it]) = firstn t (items p)).
  { intros t T; rewrite firstn_app; replace (t - length (items p)) with 0 by lia; apply app_nil_r. }
  assert (CU : forall w t, cover_upto m (chain p) (given u) w t ->
                 cover_upto (append m (Head l) y) (chain p) (given u) w t).
  { intros w t C; apply cover_append; [assumption|discriminate|discriminate]. }
  specialize (REL eq_refl).
  destruct K; constructor; rewrite ?LG; unchanged CO NCL.
  - rewrite lk_popped, E; reflexivity.
  - rewrite app_length; lia.
  - rewrite app_length; lia.
  - destruct (Nat.lt_ge_cases n (length (log p))) as [L|L].
    + rewrite nth_error_app1 in H by assumption; eauto.
    + rewrite nth_error_app2 in H by assumption.
      destruct IO as (_ & IF & _). assert (n - length (log p) < length it) by (apply nth_error_Some; congruence).
      destruct (further (length (log p)) (n - length (log p)) ltac:(lia)) as [Q1 Q2].
      replace (length (log p) + (n - length (log p))) with n in Q1, Q2 by lia.
      rewrite Q1 in H0; rewrite Q2, <- (WO _ _ _ H H2); unfold at_record.
      rewrite (nth_error_nth _ _ 0 H0); reflexivity.
  - destruct rest as [|x rest] using rev_ind.
    + apply app_inj_tail in H; destruct H as [<- <-]; exact IO.
    + rewrite app_comm_cons, app_assoc in H; apply app_inj_tail in H; destruct H as [H _].
      eapply lk_items; eauto.
  - split; [rewrite append_here, !app_length, (proj1 lk_head); cbn [length]; lia|].
    intros t x H; apply append_nth in H; destruct H as [H|(_ & -> & ->)].
    + pose proof (nth_lt _ _ _ H) as T; rewrite (proj1 lk_head) in T.
      rewrite FI by lia; apply lk_head; assumption.
    + rewrite VY, (proj1 lk_head), firstn_all2 by (rewrite app_length; cbn; lia).
      rewrite concat_app, app_length; cbn; rewrite app_nil_r; reflexivity.
  - apply append_nth in H; destruct H as [H|(_ & -> & ->)]; [apply CU; eauto|].
    intros j c N G; assert (own c = Linked l j) by (apply lk_linked; auto).
    split; intros; apply REL; eapply lk_sees; eauto; reflexivity.
  - rewrite append_other by discriminate.
    replace (phase (published p pad it th')) with (phase p).
    + split; [eapply counts_same; [apply append_other; discriminate|]|]; apply lk_state.
    + unfold phase; cbn; rewrite E; reflexivity.
  - destruct lk_tells as (n & T & EV & DR).
    destruct pad; cbn [negb andb].
    + exists n; split; [apply tells_pad; assumption|]. rewrite lost_in_app; cbn [lost_in].
      rewrite (gap_of_pad _ PD); lia.
    + unfold it, whole, now in *; destruct (Nat.eqb_spec (gap p) 0) as [Z|Z].
      * rewrite Z, Nat.add_0_r in EV; subst n; exists (S (events p)).
        rewrite lost_in_app; cbn [lost_in]; destruct (honest l (events p)) as (_ & _ & _ & HG & _).
        rewrite HG. split; [apply tells_event; assumption|lia].
      * exists (n + gap p); rewrite lost_in_app; cbn.
        split; [apply tells_gap; assumption|lia].
  - exact I.
  - destruct lk_accepted as (done & rest & EQ & A); exists done, (rest ++ [it]); rewrite EQ, app_assoc; auto.
  - rewrite app_length; lia.
  - destruct lk_head_seen as (h & A & B & C); exists h; rewrite app_length, FI by lia; cbn; repeat split; auto; lia.
Qed.

(* No room. *)
Lemma lane_drop : forall m own l p u v m' th', lane_ok m own l p u v ->
  dead p = false -> pc p = PFull ->
  store Relaxed (Dropped l) (S (dropped p)) m (pth p) = (m', th') ->
  lane_ok m' own l (count_drop p th') u v.
Proof.
  intros m own l p u v m' th' K D E ST; begin_store K D E ST.
  assert (CU : forall w t, cover_upto m (chain p) (given u) w t ->
                 cover_upto (append m (Dropped l) y) (chain p) (given u) w t).
  { intros w t C; apply cover_append; [assumption|discriminate|discriminate]. }
  destruct K; constructor; unchanged CO NCL.
  - rewrite lk_popped, E; reflexivity.
  - rewrite append_other by discriminate.
    replace (phase (count_drop p th')) with (phase p).
    + split; [eapply counts_same; [apply append_other; discriminate|]|]; apply lk_state.
    + unfold phase; cbn; rewrite E; reflexivity.
  - rewrite append_here, app_length, (proj2 lk_dropped); cbn; split; [|lia].
    apply counts_append; [apply lk_dropped|]. rewrite (proj2 lk_dropped); assumption.
  - destruct lk_tells as (n & T & EV & DR); exists n; split; [assumption|lia].
  - exact I.
Qed.

(* The thread leaves. *)
Lemma lane_close : forall m own l p u v m' th', lane_ok m own l p u v ->
  dead p = false -> pc p = PIdle -> chain p <> [] ->
  store Ordered (State l) 2 m (pth p) = (m', th') ->
  lane_ok m' own l (at_pc p th' PEnd) u v.
Proof.
  intros m own l p u v m' th' K D E CH ST; begin_store K D E ST.
  assert (CU : forall w t, cover_upto m (chain p) (given u) w t ->
                 cover_upto (append m (State l) y) (chain p) (given u) w t).
  { intros w t C; apply cover_append; [assumption|discriminate|discriminate]. }
  specialize (REL eq_refl).
  destruct K; constructor; unchanged CO NCL.
  - rewrite lk_popped, E; reflexivity.
  - assert (L1 : length (m (State l)) = 2).
    { rewrite (proj2 lk_state); unfold phase; rewrite E; destruct (chain p); congruence. }
    split; [apply counts_append; [apply lk_state|lia]|].
    rewrite append_here, app_length, L1; unfold phase; cbn; destruct (chain p); congruence.
  - apply append_nth in H; destruct H as [H|(_ & _ & ->)]; [eauto|].
    assert (FR : covers m (cur (pth p)) (First l)) by (apply lk_mine; reflexivity).
    specialize (REL _ FR); unfold covers in *; rewrite append_other in REL by discriminate.
    assumption.
  - apply append_nth in H; destruct H as [H|(_ & _ & ->)]; [exfalso; eapply NCL; eauto|].
    split; intros; apply REL; [auto|]. eapply lk_sees; eauto; right; exists j; apply lk_linked; auto.
Qed.

Lemma lane_homeless : forall m own l p u v th, lane_ok m own l p u v ->
  pc p = PFull -> chain p = [] -> (forall x, cur (pth p) x <= cur th x) ->
  lane_ok m own l (count_homeless p th) u v.
Proof.
  intros m own l p u v th K E CH MONO.
  destruct K; constructor; fields; intros; eauto; try congruence.
  - rewrite lk_popped, E; reflexivity.
  - eapply covers_mono; [apply MONO|]; eauto.
  - eapply covers_mono; [apply MONO|]; eauto.
  - replace (phase (count_homeless p th)) with (phase p); [assumption|].
    unfold phase; cbn; rewrite E; reflexivity.
  - destruct lk_tells as (n & T & EV & DR); exists (S (homeless p)).
    assert (LG : log p = []).
    { rewrite CH in lk_long; cbn in lk_long; destruct (log p); [reflexivity|cbn in lk_long; lia]. }
    assert (IT : items p = []).
    { destruct (items p) as [|it rest] eqn:I; [reflexivity|].
      destruct (lk_items [] it rest eq_refl) as (X & _); unfold log in LG; rewrite I in LG; cbn in LG.
      destruct it; [cbn in X; lia|discriminate]. }
    rewrite IT in *; apply (tells_sum _ _ honest) in T; cbn in *; split; [constructor|lia].
  - exact I.
  - destruct (lk_orphan H) as ([X|X] & Y); [|congruence]; split; [left|]; assumption.
Qed.

Lemma lane_die : forall m own l p u v, lane_ok m own l p u v -> lane_ok m own l (pdie p) u v.
Proof.
  intros m own l p u v K.
  destruct K; constructor; fields; intros; eauto; try congruence.
  - destruct (lk_orphan H) as (_ & Y); split; [left; reflexivity|]; assumption.
  - split; [reflexivity|]; apply lk_heard; assumption.
Qed.

End Steps.
