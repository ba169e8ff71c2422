(* SPDX-License-Identifier: MIT *)
(* LaneCollect.v - the rest of the steps: the collector's, and ends of threads. *)
Require Import Arith List Lia Bool Cantor.
Require Import Memory Lane LaneInv LaneThread LanePool LaneCursor LaneSteps.
Import ListNotations.

Section Steps.

Variable room limit : nat.
Variable event : nat -> nat -> item.
Hypothesis some_room : 0 < room.
Hypothesis honest : forall l k, event_ok room (event l k).

Notation lane_ok := (LaneInv.lane_ok room event).
Notation owned := (LaneSteps.owned room event).
Notation inv := (LaneSteps.inv room event).
Notation doing_ok := (LaneSteps.doing_ok room).

Lemma con_silent : forall s own stack k', owned s own stack ->
  (forall x, cur (cth (con s)) x <= cur (cth k') x) ->
  (forall l, lane_ok (mem s) own l (prod s l) (lane k' l) (cur (cth k'))) ->
  corrupt k' = 0 -> giving (doing k') = giving (doing (con s)) ->
  doing_ok (mem s) (prod s) k' -> inv (St (mem s) (prod s) k').
Proof.
  intros s own stack k' [] V L C G D; exists own, stack; constructor; cbn [mem prod con]; auto.
  destruct in_con; constructor; auto.
  - intro c; rewrite G; auto.
  - intros c O; eapply covers_chunk_mono; [exact V|]; auto.
Qed.

Lemma lanes_more : forall s own stack v', owned s own stack ->
  (forall x, cur (cth (con s)) x <= v' x) ->
  forall l, lane_ok (mem s) own l (prod s l) (lane (con s) l) v'.
Proof.
  intros s own stack v' O V l; eapply lane_seen_more; [eassumption| |exact V].
  apply (in_lane _ _ _ _ _ O).
Qed.

Lemma update_here : forall k th c l u, lane (update k th c l u) l = u.
Proof. intros; cbn; rewrite Nat.eqb_refl; reflexivity. Qed.

Lemma lanes_update : forall s own stack th c l u, owned s own stack ->
  (forall x, cur (cth (con s)) x <= cur th x) ->
  lane_ok (mem s) own l (prod s l) u (cur th) ->
  forall l', lane_ok (mem s) own l' (prod s l') (lane (update (con s) th c l u) l') (cur th).
Proof.
  intros s own stack th c l u O V K l'; cbn; destruct (Nat.eqb_spec l l') as [<-|N]; [assumption|].
  eapply lanes_more; eauto.
Qed.

Lemma settled_mono : forall m l ch g v v', (forall x, v x <= v' x) ->
  settled m l ch g v -> settled m l ch g v'.
Proof.
  intros m l ch g v v' V [A B]; split; intros; (eapply covers_mono; [apply V|]); eauto.
Qed.

Lemma last_mono : forall m p l u v v' e, (forall x, v x <= v' x) ->
  last_ok m p l u v e -> last_ok m p l u v' e.
Proof.
  intros m p l u v v' e V L E; destruct (L E); split; [assumption|]; eapply settled_mono; eauto.
Qed.

(* lane_look(): the state. *)
Lemma look_inv : forall s own stack l t v th, owned s own stack -> doing (con s) = CIdle ->
  load Ordered (State l) t (mem s) (cth (con s)) = Some (v, th) ->
  inv (St (mem s) (prod s) (goto (con s) th
    (if v =? 0 then CIdle
     else match adopted (lane (con s) l) with
          | [] => CAdopt l ((v =? 2) || heard (lane (con s) l))
          | _ => CHead l ((v =? 2) || heard (lane (con s) l))
          end))).
Proof.
  intros s own stack l t v th O I L; pose proof (load_more _ _ _ _ _ _ _ L) as V.
  pose proof (in_lane _ _ _ _ _ O l) as K.
  destruct (load_spec _ _ _ _ _ _ _ L) as (y & N & -> & _ & _ & _ & _ & _ & CA).
  specialize (CA eq_refl); rewrite (proj1 (lk_state _ _ _ _ _ _ _ _ K) _ _ N).
  pose proof (nth_lt _ _ _ N) as LT; rewrite (proj2 (lk_state _ _ _ _ _ _ _ _ K)) in LT.
  assert (LA : last_ok (mem s) (prod s l) l (lane (con s) l) (cur th)
                 ((t =? 2) || heard (lane (con s) l))).
  { intro X; apply orb_true_iff in X; destruct X as [X|X].
    - apply Nat.eqb_eq in X; rewrite X in *; split.
      + right; unfold phase in LT; destruct (chain (prod s l)); [lia|].
        destruct (pc (prod s l)); reflexivity || lia.
      + eapply settled_mono; [exact CA|]. apply (lk_closed _ _ _ _ _ _ _ _ K); assumption.
    - destruct (lk_heard _ _ _ _ _ _ _ _ K X) as [X1 X2]; split; [left; assumption|].
      eapply settled_mono; [exact V|exact X2]. }
  eapply con_silent; eauto; cbn [goto cth doing lane corrupt].
  - eapply lanes_more; eauto.
  - apply (in_con _ _ _ _ _ O).
  - rewrite I; destruct (t =? 0); [reflexivity|]. destruct (adopted (lane (con s) l)); reflexivity.
  - unfold LaneSteps.doing_ok; cbn [goto cth doing lane].
    destruct (Nat.eqb_spec t 0) as [Z|Z]; [exact Logic.I|].
    destruct (adopted (lane (con s) l)) eqn:A; [|exact LA].
    split; [assumption|]; split; [|split; [|exact LA]].
    + intro X; unfold phase in LT; rewrite X in LT; lia.
    + destruct t as [|t]; [congruence|]. eapply covers_mono; [apply CA|].
      eapply (lk_opened _ _ _ _ _ _ _ _ K); eauto.
Qed.

Lemma adopt_inv : forall s own stack l e t v th, owned s own stack ->
  doing (con s) = CAdopt l e ->
  load Relaxed (First l) t (mem s) (cth (con s)) = Some (v, th) ->
  inv (St (mem s) (prod s)
    (if v =? 0 then spoiled (con s) th
     else update (con s) th (CHead l e) l (adopt (lane (con s) l) (v - 1)))).
Proof.
  intros s own stack l e t v th O I L; pose proof (load_more _ _ _ _ _ _ _ L) as V.
  pose proof (in_lane _ _ _ _ _ O l) as K.
  pose proof (ck_doing _ _ _ _ _ (in_con _ _ _ _ _ O)) as D; unfold LaneSteps.doing_ok in D.
  rewrite I in D; destruct D as (A & CH & C & LA).
  destruct (chain (prod s l)) as [|c ch] eqn:EC; [congruence|].
  assert (N0 : nth_error (chain (prod s l)) 0 = Some c) by (rewrite EC; reflexivity).
  destruct (covers_load _ _ _ _ _ _ _ L C) as [_ ->].
  rewrite (lk_first _ _ _ _ _ _ _ _ K _ N0); cbn [Nat.eqb]; replace (S c - 1) with c by lia.
  eapply con_silent; eauto.
  - eapply lanes_update; eauto. eapply cursor_adopt; eauto.
    + eapply lanes_more; eauto.
    + rewrite A; assumption.
    + pose proof (lk_at _ _ _ _ _ _ _ _ K) as AT; rewrite A in *; cbn in *; lia.
  - apply (in_con _ _ _ _ _ O).
  - rewrite I; reflexivity.
  - unfold LaneSteps.doing_ok; cbn [update doing cth lane]; rewrite Nat.eqb_refl.
    eapply last_mono; [exact V|exact LA].
Qed.

Lemma firstn_more : forall (h : list item) a b, a <= b ->
  length (concat (firstn a h)) <= length (concat (firstn b h)).
Proof. clear some_room honest.
  intros h a b L; rewrite <- (firstn_skipn a (firstn b h)), concat_app, app_length, firstn_firstn.
  rewrite Nat.min_l by assumption; lia.
Qed.

(* A head that is past the items before this one is past this one. *)
Lemma whole_before_head : forall (done rest : list item) it h,
  length (concat done) < length (concat (firstn h (done ++ it :: rest))) ->
  length (concat done) + length it <= length (concat (firstn h (done ++ it :: rest))).
Proof.
  intros done rest it h L.
  assert (D : length done < h).
  { destruct (Nat.lt_ge_cases (length done) h) as [X|X]; [assumption|exfalso].
    pose proof (firstn_more (done ++ it :: rest) _ _ X) as Y.
    assert (Z : firstn (length done) (done ++ it :: rest) = done)
      by (rewrite firstn_app, Nat.sub_diag, firstn_all; apply app_nil_r).
    rewrite Z in Y; lia. }
  assert (D' : S (length done) <= h) by lia.
  etransitivity; [|apply (firstn_more _ _ _ D')].
  rewrite firstn_app, firstn_all2, Nat.sub_succ_l, Nat.sub_diag by lia; cbn.
  rewrite concat_app, app_length; cbn; rewrite app_nil_r; lia.
Qed.

Lemma head_inv : forall s own stack l e t v th, owned s own stack ->
  doing (con s) = CHead l e ->
  load Ordered (Head l) t (mem s) (cth (con s)) = Some (v, th) ->
  inv (St (mem s) (prod s)
    (if v <? taken (lane (con s) l) then spoiled (con s) th
     else update (con s) th (CLost l e) l (set_head (lane (con s) l) v))).
Proof.
  intros s own stack l e t v th O I L; pose proof (load_more _ _ _ _ _ _ _ L) as V.
  pose proof (in_lane _ _ _ _ _ O l) as K.
  pose proof (ck_doing _ _ _ _ _ (in_con _ _ _ _ _ O)) as D; unfold LaneSteps.doing_ok in D.
  rewrite I in D; destruct (lk_head _ _ _ _ _ _ _ _ K) as [HL HC].
  pose proof (fun C => covers_load _ _ _ _ _ _ _ L C) as CL.
  destruct (load_spec _ _ _ _ _ _ _ L) as (y & N & -> & LE & _ & _ & TC & _ & CA).
  specialize (CA eq_refl); rewrite (HC _ _ N).
  pose proof (nth_lt _ _ _ N) as LT; pose proof (lk_bounds _ _ _ _ _ _ _ _ K) as B.
  destruct (lk_head_seen _ _ _ _ _ _ _ _ K) as (h & H1 & H2 & H3).
  assert (HT : h <= t) by lia.
  pose proof (firstn_more (items (prod s l)) _ _ HT) as MO; rewrite <- H3 in MO.
  pose proof (concat_firstn (items (prod s l)) t) as LE2; fold (log (prod s l)) in LE2.
  assert (FIN : settled (mem s) l (chain (prod s l)) (given (lane (con s) l)) (cur (cth (con s))) ->
     length (concat (firstn t (items (prod s l)))) = length (log (prod s l))).
  { intros [S _]; destruct (CL (S (Head l) eq_refl)); rewrite firstn_all2 by lia; reflexivity. }
  destruct (Nat.ltb_spec (length (concat (firstn t (items (prod s l))))) (taken (lane (con s) l))) as [X|X]; [lia|].
  eapply con_silent; eauto.
  - eapply lanes_update; eauto. apply cursor_head with t; [assumption|..]; auto; try lia.
    + eapply lanes_more; eauto.
    + intro OR; apply FIN, (lk_orphan _ _ _ _ _ _ _ _ K OR).
    + intros j c NC G; destruct (lk_heads _ _ _ _ _ _ _ _ K _ _ N _ _ NC G) as [Y1 Y2].
      rewrite (HC _ _ N) in Y1, Y2.
      split; intros; (eapply covers_mono; [apply CA|]); auto.
  - apply (in_con _ _ _ _ _ O).
  - rewrite I; reflexivity.
  - unfold LaneSteps.doing_ok; cbn [update doing cth lane]; rewrite Nat.eqb_refl.
    split; [eapply last_mono; [exact V|exact D]|]. intro E; cbn; apply FIN, (D E).
Qed.

Lemma lost_inv : forall s own stack l e t v th, owned s own stack ->
  doing (con s) = CLost l e ->
  load Relaxed (Dropped l) t (mem s) (cth (con s)) = Some (v, th) ->
  inv (St (mem s) (prod s) (update (con s) th CIdle l (set_lost (lane (con s) l) v e))).
Proof.
  intros s own stack l e t v th O I L; pose proof (load_more _ _ _ _ _ _ _ L) as V.
  pose proof (in_lane _ _ _ _ _ O l) as K.
  pose proof (ck_doing _ _ _ _ _ (in_con _ _ _ _ _ O)) as D; unfold LaneSteps.doing_ok in D.
  rewrite I in D; destruct D as [D1 D2]; destruct (lk_dropped _ _ _ _ _ _ _ _ K) as [DC DL].
  assert (FIN : settled (mem s) l (chain (prod s l)) (given (lane (con s) l)) (cur (cth (con s))) ->
     v = dropped (prod s l)).
  { intros [S _]; destruct (covers_load _ _ _ _ _ _ _ L (S (Dropped l) eq_refl)) as [LT ->].
    assert (P : 0 < length (mem s (Dropped l))) by lia.
    pose proof (counts_newest _ _ DC P); lia. }
  eapply con_silent; eauto.
  - eapply lanes_update; eauto. apply cursor_lost; [eapply lanes_more; eauto|].
    intro X; apply orb_true_iff in X; destruct X as [X|X].
    + destruct (lk_orphan _ _ _ _ _ _ _ _ K X) as (A1 & A2 & A3 & A4).
      split; [assumption|]; split; [eapply settled_mono; [exact V|exact A2]|]; auto.
    + destruct (D1 X) as (A1 & A2). split; [assumption|]; split; [eapply settled_mono; [exact V|exact A2]|]; auto.
  - apply (in_con _ _ _ _ _ O).
  - rewrite I; reflexivity.
  - exact Logic.I.
Qed.

Lemma take_inv : forall s own stack l, owned s own stack -> doing (con s) = CIdle ->
  taken (lane (con s) l) < head (lane (con s) l) ->
  taken (lane (con s) l) < room * length (adopted (lane (con s) l)) ->
  inv (St (mem s) (prod s) (goto (con s) (cth (con s)) (CCopy l [] []))).
Proof.
  intros s own stack l O I H1 H2; pose proof (in_lane _ _ _ _ _ O l) as K.
  eapply con_silent; eauto.
  - apply (in_lane _ _ _ _ _ O).
  - apply (in_con _ _ _ _ _ O).
  - rewrite I; reflexivity.
  - unfold LaneSteps.doing_ok; cbn [goto doing lane].
    destruct (lk_accepted _ _ _ _ _ _ _ _ K) as (done & rest & E1 & E2 & E3).
    destruct (lk_head_seen _ _ _ _ _ _ _ _ K) as (h & _ & _ & E4).
    pose proof (lk_bounds _ _ _ _ _ _ _ _ K) as B; unfold log in B; rewrite E1, concat_app, app_length in B.
    destruct rest as [|it rest]; [cbn in B; lia|].
    destruct (lk_items _ _ _ _ _ _ _ _ K _ _ _ E1) as (I1 & _).
    exists done, it, rest; repeat split; auto; try (unfold words; cbn; lia); try congruence.
    rewrite E1 in E4; rewrite E2, E4 in *; apply whole_before_head; assumption.
Qed.

Lemma firstn_S : forall (A : Type) (x : list A) n d, n < length x ->
  firstn n x ++ [nth n x d] = firstn (S n) x.
Proof.
  induction x as [|a x IH]; intros [|n] d H; cbn in *; try lia; [reflexivity|].
  f_equal; apply IH; lia.
Qed.

Lemma nth_concat : forall (done rest : list item) (it : item) i, i < length it ->
  nth_error (concat (done ++ it :: rest)) (length (concat done) + i) = Some (nth i it []).
Proof.
  intros done rest it i L; rewrite concat_app, nth_error_app2, Nat.add_comm, Nat.add_sub by lia.
  cbn [concat]; rewrite nth_error_app1 by assumption. apply nth_error_nth'; assumption.
Qed.

(* These records are copied. *)
Lemma copied_inv : forall s own stack l th rs done it rest, owned s own stack ->
  giving (doing (con s)) = None -> (forall x, cur (cth (con s)) x <= cur th x) ->
  let u := lane (con s) l in
  items (prod s l) = done ++ it :: rest -> taken u = length (concat done) ->
  accepted u = kept done -> rs = firstn (length rs) it -> 0 < length rs <= length it ->
  (1 < length rs -> padding it = false) -> taken u + length it <= head u ->
  taken u < room * length (adopted u) ->
  inv (St (mem s) (prod s) (copied room (con s) th l rs)).
Proof.
  intros s own stack l th rs done it rest O GI V u E1 E2 E3 R RL PA HD AD.
  pose proof (in_lane _ _ _ _ _ O l) as K; fold u in K.
  destruct (lk_items _ _ _ _ _ _ _ _ K _ _ _ E1) as (I1 & I2 & I3 & I4); rewrite <- E2 in I2, I4.
  assert (HE : hd [] rs = hd [] it).
  { rewrite R; destruct it as [|a it]; [cbn in I1; lia|]. destruct (length rs); [lia|reflexivity]. }
  pose proof (Nat.div_mod (taken u) room ltac:(lia)) as DM.
  pose proof (Nat.mod_upper_bound (taken u) room ltac:(lia)) as MB.
  assert (DL : taken u / room < length (adopted u)) by (apply Nat.div_lt_upper_bound; lia).
  assert (AB : room * S (taken u / room) <= room * length (adopted u)) by (apply Nat.mul_le_mono_l; lia).
  assert (PASS : forall u', u' = (if padding it then skip u (length it) else accept u it) ->
    inv (St (mem s) (prod s) (update (con s) th CIdle l u'))).
  { intros u' U; eapply con_silent; eauto.
    - eapply lanes_update; eauto. eapply cursor_accept; eauto; try lia. eapply lanes_more; eauto.
    - apply (in_con _ _ _ _ _ O).
    - exact Logic.I. }
  unfold copied; fold u; rewrite HE; fold (padding it).
  destruct (padding it) eqn:P.
  - apply PASS; f_equal; lia.
  - assert (C1 : followers (hd [] it) <? room - taken u mod room = true) by (apply Nat.ltb_lt; lia).
    assert (C2 : followers (hd [] it) <? head u - taken u = true) by (apply Nat.ltb_lt; lia).
    rewrite C1, C2; cbn [andb].
    destruct (Nat.eqb_spec (length rs) (S (followers (hd [] it)))) as [L|L].
    + apply PASS; f_equal. rewrite R; apply firstn_all2; lia.
    + eapply con_silent; eauto; cbn [goto cth doing lane corrupt].
      * eapply lanes_more; eauto.
      * apply (in_con _ _ _ _ _ O).
      * unfold LaneSteps.doing_ok; cbn [goto doing lane]; fold u.
        exists done, it, rest; repeat split; auto; try lia; unfold words; cbn; lia.
Qed.

Lemma copy_inv : forall s own stack l rs r t v th, owned s own stack ->
  doing (con s) = CCopy l rs r ->
  let u := lane (con s) l in
  load Relaxed (Word (nth (taken u / room) (adopted u) 0)
                     (taken u mod room + length rs) (length r)) t (mem s) (cth (con s))
    = Some (v, th) ->
  inv (St (mem s) (prod s)
    (if S (length r) <? words then goto (con s) th (CCopy l rs (r ++ [v]))
     else copied room (con s) th l (rs ++ [r ++ [v]]))).
Proof.
  intros s own stack l rs r t v th O I u L; pose proof (load_more _ _ _ _ _ _ _ L) as V.
  pose proof (in_lane _ _ _ _ _ O l) as K.
  pose proof (ck_doing _ _ _ _ _ (in_con _ _ _ _ _ O)) as D; unfold LaneSteps.doing_ok in D.
  rewrite I in D; cbn zeta in D; fold u in D, K.
  destruct D as (done & it & rest & E1 & E2 & E3 & R1 & R2 & PA & Q & RW & HD & AD).
  destruct (lk_items _ _ _ _ _ _ _ _ K _ _ _ E1) as (I1 & I2 & I3 & I4); rewrite <- E2 in I2, I4.
  set (n := taken u) in *.
  assert (NA : n / room < length (adopted u)) by (apply Nat.div_lt_upper_bound; lia).
  destruct (lk_adopted _ _ _ _ _ _ _ _ K) as (rest' & EC).
  assert (NC : nth_error (chain (prod s l)) (n / room) = Some (nth (n / room) (adopted u) 0)).
  { rewrite EC, nth_error_app1 by assumption; apply nth_error_nth'; assumption. }
  assert (G : given u <= n / room).
  { assert (given u <= length (adopted u) - 1).
    { destruct (lk_given _ _ _ _ _ _ _ _ K) as [X|[[X Y]|(X & Y & Z)]]; lia. }
    etransitivity; [eassumption|]. apply Nat.div_le_lower_bound; [lia|].
    apply (lk_at _ _ _ _ _ _ _ _ K). }
  pose proof (Nat.div_mod n room ltac:(lia)) as DM.
  destruct (further _ some_room n (length rs) ltac:(lia)) as [F1 F2].
  set (x := nth (length rs) it []) in *.
  assert (NX : nth_error (log (prod s l)) (n + length rs) = Some x).
  { unfold log; rewrite E1, E2; apply nth_concat; assumption. }
  destruct (lk_seen _ _ _ _ _ _ _ _ K _ _ NC G) as [S1 _].
  destruct (covers_load _ _ _ _ _ _ _ L (S1 (n mod room + length rs) (length r) ltac:(lia) ltac:(lia))) as [_ ->].
  assert (NC' : nth_error (chain (prod s l)) ((n + length rs) / room) = Some (nth (n / room) (adopted u) 0))
    by (rewrite F1; assumption).
  pose proof (lk_words _ _ _ _ _ _ _ _ K _ _ _ _ NX NC' ltac:(rewrite F1; exact G) RW) as WD.
  rewrite F2 in WD; rewrite WD.
  assert (SX : length x = words) by (apply I3, nth_In; assumption).
  assert (RN : r ++ [nth (length r) x 0] = firstn (S (length r)) x).
  { rewrite Q at 1; apply firstn_S; lia. }
  destruct (Nat.ltb_spec (S (length r)) words) as [W|W].
  - eapply con_silent; eauto; cbn [goto cth doing lane corrupt].
    + eapply lanes_more; eauto.
    + apply (in_con _ _ _ _ _ O).
    + rewrite I; reflexivity.
    + unfold LaneSteps.doing_ok; cbn [goto doing lane]; fold u; fold n.
      exists done, it, rest; fold x; rewrite app_length; cbn [length]; repeat split; auto; try lia.
      replace (length r + 1) with (S (length r)) by lia; assumption.
  - assert (E : r ++ [nth (length r) x 0] = x) by (rewrite RN; apply firstn_all2; lia).
    rewrite E. assert (RS : rs ++ [x] = firstn (S (length rs)) it).
    { rewrite R1 at 1; apply firstn_S; assumption. }
    eapply copied_inv with (done := done) (it := it) (rest := rest); fold u; fold n; try eassumption;
      rewrite ?app_length; cbn [length]; try lia.
    + rewrite I; reflexivity.
    + replace (length rs + 1) with (S (length rs)) by lia; assumption.
    + intro X; apply PA; intro Z; rewrite Z in X; cbn in X; lia.
Qed.

Lemma turn_inv : forall s own stack l t v th, owned s own stack -> doing (con s) = CIdle ->
  let u := lane (con s) l in
  may_turn room u = true ->
  load Relaxed (Link (last (adopted u) 0)) t (mem s) (cth (con s)) = Some (v, th) ->
  inv (St (mem s) (prod s)
    (if negb (v =? 0) then update (con s) th CIdle l (adopt u (v - 1))
     else if taken u <? head u then spoiled (con s) th else goto (con s) th CIdle)).
Proof.
  intros s own stack l t v th O I u MT L; pose proof (load_more _ _ _ _ _ _ _ L) as V.
  pose proof (in_lane _ _ _ _ _ O l) as K; fold u in K.
  unfold may_turn in MT; apply andb_true_iff in MT; destruct MT as [MT M3].
  apply andb_true_iff in MT; destruct MT as [M1 M2].
  apply Nat.eqb_eq in M1; apply Nat.ltb_lt in M2.
  assert (M4 : taken u < head u \/ orphan u = true).
  { apply orb_true_iff in M3; destruct M3 as [M3|M3]; [left; apply Nat.ltb_lt|right]; assumption. }
  destruct (lk_adopted _ _ _ _ _ _ _ _ K) as (rest & EC).
  destruct (adopted u) as [|a ad] eqn:EA; [cbn in M2; lia|]. rewrite <- EA in *.
  destruct (@exists_last _ (adopted u)) as (ch & b & EB); [rewrite EA; discriminate|].
  assert (LB : last (adopted u) 0 = b) by (rewrite EB; apply last_last).
  assert (LC : length (adopted u) = S (length ch)) by (rewrite EB, app_length; cbn; lia).
  assert (NB : nth_error (chain (prod s l)) (length ch) = Some b).
  { rewrite EC, EB, <- app_assoc, nth_error_app2, Nat.sub_diag by lia; reflexivity. }
  assert (G : given u <= length ch) by lia.
  rewrite LB in L.
  assert (C : covers (mem s) (cur (cth (con s))) (Link b)).
  { destruct M4 as [M4|M4].
    - destruct (lk_seen _ _ _ _ _ _ _ _ K _ _ NB G) as [_ S2]; apply S2; lia.
    - destruct (lk_orphan _ _ _ _ _ _ _ _ K M4) as (_ & [_ S] & _); eapply S; eauto; reflexivity. }
  destruct (covers_load _ _ _ _ _ _ _ L C) as [_ ->].
  rewrite (lk_links _ _ _ _ _ _ _ _ K _ _ NB G), <- LC.
  destruct (nth_error (chain (prod s l)) (length (adopted u))) as [c|] eqn:N; cbn [link_to Nat.eqb negb].
  - replace (S c - 1) with c by lia. eapply con_silent; eauto.
    + eapply lanes_update; eauto. eapply cursor_adopt; eauto; try (left; auto).
      eapply lanes_more; eauto.
    + apply (in_con _ _ _ _ _ O).
    + rewrite I; reflexivity.
    + exact Logic.I.
  - destruct (Nat.ltb_spec (taken u) (head u)) as [X|X].
    + exfalso; apply nth_error_None in N.
      pose proof (lk_bounds _ _ _ _ _ _ _ _ K); pose proof (lk_long _ _ _ _ _ _ _ _ K).
      assert (room * length (chain (prod s l)) <= room * length (adopted u))
        by (apply Nat.mul_le_mono_l; assumption). lia.
    + eapply con_silent; eauto.
      * eapply lanes_more; eauto.
      * apply (in_con _ _ _ _ _ O).
      * rewrite I; reflexivity.
      * exact Logic.I.
Qed.

(* ---- a chunk goes back ------------------------------------------------------------------ *)

Lemma return_inv : forall s own stack l, owned s own stack -> doing (con s) = CIdle ->
  let u := lane (con s) l in
  may_return u = true ->
  inv (St (mem s) (prod s)
    (update (con s) (cth (con s)) (CGive (nth (given u) (adopted u) 0)) l (give_one u))).
Proof.
  intros s own stack l O I u MR; pose proof (in_lane _ _ _ _ _ O l) as K; fold u in K.
  set (c := nth (given u) (adopted u) 0).
  destruct (cursor_give _ _ some_room _ _ _ _ _ _ c K (in_beyond _ _ _ _ _ O) MR eq_refl)
    as (OC & CC & K'); clearbody c.
  destruct O as [OP OL OO OK OB].
  assert (NG : forall c0, own c0 <> Giving).
  { intros c0 G; apply (ck_giving _ _ _ _ _ OK) in G; rewrite I in G; discriminate. }
  exists (set_owner own c Giving), stack; constructor; cbn [mem prod con]; auto.
  - eapply pool_apart; eauto.
    + intro c0; unfold set_owner; destruct (Nat.eqb_spec c c0) as [<-|N]; [|tauto].
      split; congruence.
    + intro c0; unfold set_owner; destruct (Nat.eqb_spec c c0) as [<-|N]; [|tauto].
      split; congruence.
  - intro l'; cbn; destruct (Nat.eqb_spec l l') as [<-|N]; [assumption|].
    eapply lane_ok_apart; [eassumption|apply OL| |auto].
    repeat split; auto; unfold set_owner; destruct (Nat.eqb_spec c c0) as [<-|X]; auto; congruence.
  - intro l'; eapply pop_apart; eauto. intros c0; unfold set_owner.
    destruct (Nat.eqb_spec c c0); [discriminate|auto].
  - constructor; cbn [update doing giving cth corrupt].
    + intro c0; unfold set_owner; destruct (Nat.eqb_spec c c0) as [<-|X]; [split; auto|].
      split; [intro G; exfalso; eapply NG; eauto|congruence].
    + intros c0 G; unfold set_owner in G; destruct (Nat.eqb_spec c c0) as [->|X]; [assumption|].
      exfalso; eapply NG; eauto.
    + apply OK.
    + exact Logic.I.
Qed.

Lemma give_link_inv : forall s own stack c top m' th, owned s own stack ->
  doing (con s) = CGiveLink c top ->
  store Relaxed (Link c) (number_of top) (mem s) (cth (con s)) = (m', th) ->
  inv (St m' (prod s) (goto (con s) th (CGiveCas c top))).
Proof.
  intros s own stack c top m' th O I ST.
  pose proof (store_covers _ some_room _ _ _ _ _ _ _ ST) as CO.
  destruct (store_spec _ _ _ _ _ _ _ ST) as (y & -> & VY & MO & _).
  destruct O as [OP OL OO OK OB].
  assert (OC : own c = Giving) by (apply (ck_giving _ _ _ _ _ OK); rewrite I; reflexivity).
  assert (NX : forall x c0, chunk_of x = Some c0 -> own c0 <> Giving ->
    append (mem s) (Link c) y x = mem s x).
  { intros x c0 X N; apply append_other; intros <-; cbn in X; congruence. }
  exists own, stack; constructor; cbn [mem prod con goto cth]; auto.
  - eapply pool_apart; eauto; try (apply append_other; discriminate); try tauto.
    + intro; rewrite append_length; lia.
    + intros c0 x [X|X] XC; eapply NX; eauto; congruence.
  - intro l; eapply lane_ok_apart; [eassumption|apply OL| |exact MO].
    repeat split; auto.
    + intros x X; apply append_other; intros <-; discriminate.
    + intros x c0 X [Y|[j Y]]; eapply NX; eauto; congruence.
  - intro l; eapply pop_apart; eauto.
    intros c0 x X XC; eapply NX; eauto; congruence.
  - constructor; cbn [goto doing giving cth corrupt].
    + intro c0; rewrite (ck_giving _ _ _ _ _ OK), I; reflexivity.
    + intros c0 G x X; apply CO; apply (ck_sees _ _ _ _ _ OK c0 G); assumption.
    + apply OK.
    + unfold LaneSteps.doing_ok; cbn [goto doing]; rewrite newest_append; assumption.
Qed.

Lemma give_cas_inv : forall s own stack c top m' th, owned s own stack ->
  doing (con s) = CGiveCas c top ->
  cas Ordered Top top (top_of (S (tag_of top)) (S c)) (mem s) (cth (con s)) = Some (m', th) ->
  inv (St m' (prod s) (goto (con s) th CIdle)).
Proof.
  intros s own stack c top m' th O I C.
  destruct (cas_spec _ some_room _ _ _ _ _ _ _ _ C) as (y & -> & VY & NE & MO & CA & CR).
  specialize (CR eq_refl).
  destruct O as [OP OL OO OK OB].
  assert (OC : own c = Giving) by (apply (ck_giving _ _ _ _ _ OK); rewrite I; reflexivity).
  pose proof (ck_doing _ _ _ _ _ OK) as D; unfold LaneSteps.doing_ok in D; rewrite I in D.
  rewrite <- NE in D, VY.
  assert (P : pool_ok (append (mem s) Top y) (set_owner own c Stacked) (c :: stack)).
  { apply pool_give; auto. eapply covers_chunk_mono; [exact CR|].
    apply (ck_sees _ _ _ _ _ OK); assumption. }
  exists (set_owner own c Stacked), (c :: stack); constructor; cbn [mem prod con goto cth]; auto.
  - intro l; eapply lane_ok_apart; [eassumption|apply OL| |exact MO].
    repeat split; intros; try (apply append_other; intros <-; discriminate);
      unfold set_owner in *; destruct (Nat.eqb_spec c c0) as [->|X]; auto; congruence.
  - intro l; eapply pop_late; eauto. rewrite VY, tag_top; eapply newest_tag; eauto.
  - constructor; cbn [goto doing giving cth corrupt].
    + intro c0; unfold set_owner; destruct (Nat.eqb_spec c c0) as [<-|X]; [split; discriminate|].
      rewrite (ck_giving _ _ _ _ _ OK), I; cbn; split; congruence.
    + intros c0 G; unfold set_owner in G; destruct (Nat.eqb_spec c c0) as [->|X]; [discriminate|].
      apply (ck_giving _ _ _ _ _ OK) in G; rewrite I in G; cbn in G; congruence.
    + apply OK.
    + exact Logic.I.
Qed.

Lemma cstep_inv : forall s own stack a t m' k', owned s own stack ->
  Lane.cstep room ours a t (mem s) (con s) = Some (m', k') -> inv (St m' (prod s) k').
Proof.
  intros s own stack a t m' k' O H; unfold Lane.cstep in H.
  destruct (doing (con s)) eqn:I, a; cbn [o_look o_state_look o_give ours] in H; try discriminate.
  - destruct (load _ _ _ _ _) as [[v th]|] eqn:L; [|discriminate]. injection H as <- <-.
    eapply look_inv; eauto.
  - destruct (_ && _) eqn:B; [|discriminate]. injection H as <- <-.
    apply andb_true_iff in B; destruct B as [B1 B2]; apply Nat.ltb_lt in B1, B2.
    eapply take_inv; eauto.
  - destruct (may_turn _ _) eqn:B; [|discriminate].
    destruct (load _ _ _ _ _) as [[v th]|] eqn:L; [|discriminate]. injection H as <- <-.
    eapply turn_inv; eauto.
  - destruct (may_return _) eqn:B; [|discriminate]. injection H as <- <-.
    eapply return_inv; eauto.
  - destruct (load _ _ _ _ _) as [[v th]|] eqn:L; [|discriminate]. injection H as <- <-.
    eapply adopt_inv; eauto.
  - destruct (load _ _ _ _ _) as [[v th]|] eqn:L; [|discriminate]. injection H as <- <-.
    eapply head_inv; eauto.
  - destruct (load _ _ _ _ _) as [[v th]|] eqn:L; [|discriminate]. injection H as <- <-.
    eapply lost_inv; eauto.
  - destruct (load _ _ _ _ _) as [[v th]|] eqn:L; [|discriminate]. injection H as <- <-.
    eapply copy_inv; eauto.
  - destruct (load _ _ _ _ _) as [[v th]|] eqn:L; [|discriminate]. injection H as <- <-.
    pose proof (load_more _ _ _ _ _ _ _ L) as V.
    eapply con_silent; eauto; cbn [goto cth doing lane corrupt giving].
    + eapply lanes_more; eauto.
    + apply (in_con _ _ _ _ _ O).
    + rewrite I; reflexivity.
    + exact Logic.I.
  - destruct (store _ _ _ _ _) as [m1 th] eqn:ST; injection H as <- <-.
    eapply give_link_inv; eauto.
  - destruct (cas _ _ _ _ _ _) as [[m1 th]|] eqn:C; injection H as <- <-.
    + eapply give_cas_inv; eauto.
    + eapply con_silent; eauto; cbn [goto cth doing lane corrupt giving].
      * apply (in_lane _ _ _ _ _ O).
      * apply (in_con _ _ _ _ _ O).
      * rewrite I; reflexivity.
      * exact Logic.I.
Qed.

End Steps.
