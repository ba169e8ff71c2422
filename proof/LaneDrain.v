(* SPDX-License-Identifier: MIT *)
(*
   LaneDrain.v - a thread that ends, or dies anywhere, leaves a lane that can be read to its
   end: by steps of the collector alone, whatever the other threads have left undone.
*)
Require Import Arith List Lia Bool Cantor.
Require Import Memory Lane LaneInv LaneSteps LaneBounds LaneTheorems LaneTorn LaneParts LaneSum.
Import ListNotations.

Section Drain.

Variable room limit : nat.
Variable event : nat -> nat -> item.
Hypothesis some_room : 0 < room.
Hypothesis honest : forall l k, event_ok room (event l k).

Notation step := (Lane.step room limit event ours).
Notation inv := (LaneSteps.inv room event).

Definition by_collector (c : choice) : Prop :=
  match c with Mourn _ | Collect _ _ => True | _ => False end.

(* From s to s', by steps of the collector. *)
Inductive goes (s : state) : state -> Prop :=
| goes_none : goes s s
| goes_on : forall s1 c s2, goes s s1 -> by_collector c -> step s1 c = Some s2 -> goes s s2.

Lemma goes_trans : forall s s1 s2, goes s s1 -> goes s1 s2 -> goes s s2.
Proof. intros s s1 s2 A B; induction B; [assumption|eapply goes_on; eauto]. Qed.

Definition good (s : state) : Prop := inv s /\ views_in s.

Lemma good_step : forall s c s', good s -> step s c = Some s' -> good s'.
Proof. intros s c s' [A B] H; split; [eapply step_inv; eauto|eapply step_in; eauto]. Qed.

Lemma can_load : forall o x (m : memory) th, thread_in m th ->
  exists th', load o x (length (m x) - 1) m th = Some (newest m x, th').
Proof.
  intros o x m th (B & _); specialize (B x); unfold load.
  destruct (Nat.leb_spec (cur th x) (length (m x) - 1)); [|lia].
  rewrite nth_newest by lia; eauto.
Qed.

Definition same_lane (s s' : state) (l : nat) : Prop :=
  prod s' = prod s /\ adopted (lane (con s') l) = adopted (lane (con s) l)
  /\ head (lane (con s') l) = head (lane (con s) l)
  /\ orphan (lane (con s') l) = orphan (lane (con s) l)
  /\ given (lane (con s') l) = given (lane (con s) l).

(* Nothing is ever taken for corrupt. *)
Lemma not_corrupt : forall m p k, good (St m p k) -> corrupt k = 0.
Proof. intros m p k [(own & stack & O) _]; exact (ck_corrupt _ _ _ _ _ (in_con _ _ _ _ _ O)). Qed.

(* The rest of the records that are copied. *)
Lemma copies : forall n s l rs r, good s -> doing (con s) = CCopy l rs r ->
  words * (head (lane (con s) l) - taken (lane (con s) l) - length rs) - length r <= n ->
  exists s', goes s s' /\ good s' /\ doing (con s') = CIdle /\ same_lane s s' l
    /\ taken (lane (con s) l) < taken (lane (con s') l).
Proof.
  induction n as [|n IH]; intros s l rs r G D L;
    pose proof (proj1 G) as (own & stack & OW);
    pose proof (ck_doing _ _ _ _ _ (in_con _ _ _ _ _ OW)) as DO; unfold LaneSteps.doing_ok in DO;
    rewrite D in DO; destruct DO as (done & it & rest & E1 & E2 & E3 & R1 & R2 & PA & Q & RW & HD & AD);
    unfold words in *; [lia|].
  edestruct (can_load Relaxed (Word (nth (taken (lane (con s) l) / room) (adopted (lane (con s) l)) 0)
    (taken (lane (con s) l) mod room + length rs) (length r)) (mem s) (cth (con s))) as (th & LO); [apply G|].
  match type of LO with load _ ?x _ _ _ = Some (?n0, _) => set (v := n0) in *; set (here := x) in * end.
  assert (ST : step s (Collect Continue (length (mem s here) - 1)) = Some (St (mem s) (prod s)
    (if S (length r) <? words then goto (con s) th (CCopy l rs (r ++ [v]))
     else copied room (con s) th l (rs ++ [r ++ [v]])))).
  { cbn; unfold cstep; rewrite D; cbv zeta; fold here; rewrite LO; reflexivity. }
  pose proof (good_step _ _ _ G ST) as G1.
  assert (GO : goes s (St (mem s) (prod s)
    (if S (length r) <? words then goto (con s) th (CCopy l rs (r ++ [v]))
     else copied room (con s) th l (rs ++ [r ++ [v]]))))
    by (refine (goes_on _ _ _ _ (goes_none _) _ ST); exact Logic.I).
  assert (NEXT : forall rs' r', good (St (mem s) (prod s) (goto (con s) th (CCopy l rs' r'))) ->
    goes s (St (mem s) (prod s) (goto (con s) th (CCopy l rs' r'))) ->
    4 * (head (lane (con s) l) - taken (lane (con s) l) - length rs') - length r' <= n ->
    exists s', goes s s' /\ good s' /\ doing (con s') = CIdle /\ same_lane s s' l
      /\ taken (lane (con s) l) < taken (lane (con s') l)).
  { intros rs' r' X Y Z; destruct (IH _ l rs' r' X eq_refl Z) as (s' & A1 & A2 & A3 & A4 & A5).
    exists s'; split; [eapply goes_trans; eauto|]; auto. }
  assert (IDLE : forall u', good (St (mem s) (prod s) (update (con s) th CIdle l u')) ->
    goes s (St (mem s) (prod s) (update (con s) th CIdle l u')) ->
    adopted u' = adopted (lane (con s) l) -> head u' = head (lane (con s) l) ->
    orphan u' = orphan (lane (con s) l) -> given u' = given (lane (con s) l) ->
    taken (lane (con s) l) < taken u' ->
    exists s', goes s s' /\ good s' /\ doing (con s') = CIdle /\ same_lane s s' l
      /\ taken (lane (con s) l) < taken (lane (con s') l)).
  { intros u' X Y U1 U2 U3 U4 U5; eexists; split; [exact Y|]; split; [exact X|]; split; [reflexivity|].
    unfold same_lane; cbn; rewrite Nat.eqb_refl; auto 6. }
  destruct (Nat.ltb_spec (S (length r)) words) as [W|W].
  - eapply NEXT; [exact G1|exact GO|]. rewrite app_length; cbn [length]; unfold words in *; lia.
  - unfold words in W; unfold copied in G1, GO.
    destruct (is_pad _); [|destruct (_ && _)].
    + eapply IDLE; [exact G1|exact GO|reflexivity..|]. cbn.
      pose proof (Nat.mod_upper_bound (taken (lane (con s) l)) room ltac:(lia)); lia.
    + destruct (length (rs ++ [r ++ [v]]) =? _).
      * eapply IDLE; [exact G1|exact GO|reflexivity..|]. cbn; rewrite app_length; cbn; lia.
      * eapply NEXT; [exact G1|exact GO|]. rewrite app_length; cbn [length]; lia.
    + apply not_corrupt in G1; discriminate.
Qed.

(* One more event, or gap, or padding. *)
Lemma takes : forall s l, good s -> doing (con s) = CIdle ->
  taken (lane (con s) l) < head (lane (con s) l) ->
  taken (lane (con s) l) < room * length (adopted (lane (con s) l)) ->
  exists s', goes s s' /\ good s' /\ doing (con s') = CIdle /\ same_lane s s' l
    /\ taken (lane (con s) l) < taken (lane (con s') l).
Proof.
  intros s l G D H R.
  assert (ST : step s (Collect (Take l) 0) = Some (St (mem s) (prod s) (goto (con s) (cth (con s)) (CCopy l [] [])))).
  { cbn; unfold cstep; rewrite D. apply Nat.ltb_lt in H, R; rewrite H, R; reflexivity. }
  destruct (copies _ _ l [] [] (good_step _ _ _ G ST) eq_refl (le_n _)) as (s' & G1 & G2 & G3 & G4 & G5).
  exists s'; split; [eapply goes_trans; [|exact G1]; refine (goes_on _ _ _ _ (goes_none _) _ ST); exact Logic.I|].
  split; [assumption|]; split; [assumption|]; split; assumption.
Qed.

(* The next chunk, if the last one is read. *)
Lemma turns : forall s l, good s -> doing (con s) = CIdle ->
  taken (lane (con s) l) < head (lane (con s) l) ->
  taken (lane (con s) l) = room * length (adopted (lane (con s) l)) ->
  given (lane (con s) l) < length (adopted (lane (con s) l)) ->
  exists s', goes s s' /\ good s' /\ doing (con s') = CIdle /\ prod s' = prod s
    /\ taken (lane (con s') l) = taken (lane (con s) l)
    /\ head (lane (con s') l) = head (lane (con s) l)
    /\ orphan (lane (con s') l) = orphan (lane (con s) l)
    /\ given (lane (con s') l) = given (lane (con s) l)
    /\ length (adopted (lane (con s') l)) = S (length (adopted (lane (con s) l))).
Proof.
  intros s l G D H R GV.
  edestruct (can_load Relaxed (Link (last (adopted (lane (con s) l)) 0)) (mem s) (cth (con s)))
    as (th & LO); [apply G|].
  match type of LO with _ = Some (?n, _) => set (v := n) in * end.
  assert (MT : may_turn room (lane (con s) l) = true).
  { unfold may_turn; rewrite R, Nat.eqb_refl; rewrite R in H; apply Nat.ltb_lt in H, GV; rewrite H, GV; reflexivity. }
  assert (ST : exists s', step s (Collect (Turn l) (length (mem s (Link (last (adopted (lane (con s) l)) 0))) - 1)) = Some s'
    /\ s' = St (mem s) (prod s) (if negb (v =? 0) then update (con s) th CIdle l (adopt (lane (con s) l) (v - 1))
       else spoiled (con s) th)).
  { eexists; split; [|reflexivity]. cbn; unfold cstep; rewrite D, MT, LO.
    apply Nat.ltb_lt in H; rewrite H; reflexivity. }
  destruct ST as (s' & ST & E); pose proof (good_step _ _ _ G ST) as G'.
  destruct (negb (v =? 0)).
  - exists s'; split; [refine (goes_on _ _ _ _ (goes_none _) _ ST); exact Logic.I|].
    split; [assumption|]. subst s'; cbn; rewrite Nat.eqb_refl; cbn; rewrite app_length; cbn.
    repeat split; lia.
  - exfalso; destruct G' as [(own & stack & O) _]; destruct (in_con _ _ _ _ _ O) as [_ _ C _].
    subst s'; cbn in C; lia.
Qed.

Lemma reads_all : forall n s l, good s -> doing (con s) = CIdle -> orphan (lane (con s) l) = true ->
  adopted (lane (con s) l) <> [] ->
  head (lane (con s) l) - taken (lane (con s) l) <= n ->
  exists s', goes s s' /\ good s' /\ doing (con s') = CIdle /\ prod s' = prod s
    /\ orphan (lane (con s') l) = true
    /\ taken (lane (con s') l) = head (lane (con s') l).
Proof.
  induction n as [|n IH]; intros s l G D O A N;
    pose proof (proj1 G) as (own & stack & OW); pose proof (in_lane _ _ _ _ _ OW l) as K;
    pose proof (lk_bounds _ _ _ _ _ _ _ _ K) as B; pose proof (lk_at _ _ _ _ _ _ _ _ K) as AT.
  - exists s; repeat split; auto; try apply G; [apply goes_none|lia].
  - destruct (Nat.eq_dec (taken (lane (con s) l)) (head (lane (con s) l))) as [E|E].
    { exists s; repeat split; auto; try apply G; apply goes_none. }
    assert (GV : given (lane (con s) l) < length (adopted (lane (con s) l))).
    { destruct (lk_given _ _ _ _ _ _ _ _ K) as [X|[[_ X]|(_ & _ & X)]]; [assumption|contradiction|lia]. }
    assert (TK : forall s1, good s1 -> doing (con s1) = CIdle -> prod s1 = prod s ->
      orphan (lane (con s1) l) = true -> adopted (lane (con s1) l) <> [] ->
      taken (lane (con s1) l) = taken (lane (con s) l) ->
      head (lane (con s1) l) = head (lane (con s) l) ->
      taken (lane (con s1) l) < room * length (adopted (lane (con s1) l)) ->
      exists s', goes s1 s' /\ good s' /\ doing (con s') = CIdle /\ prod s' = prod s
        /\ orphan (lane (con s') l) = true
        /\ taken (lane (con s') l) = head (lane (con s') l)).
    { intros s1 G1 D1 P1 O1 A1 AC H1 R1.
      destruct (takes s1 l G1 D1) as (s2 & S1 & S2 & S3 & (S4 & S5 & S6 & S7 & _) & S8);
        [rewrite AC, H1; lia|assumption|].
      destruct (IH s2 l) as (s' & T1 & T2 & T3 & T4 & T5 & T6); auto; try congruence.
      { rewrite S6, H1; lia. }
      exists s'; repeat split; auto; try apply T2; [eapply goes_trans; eauto|congruence]. }
    destruct (Nat.lt_ge_cases (taken (lane (con s) l))
                (room * length (adopted (lane (con s) l)))) as [L|L].
    + apply TK; auto.
    + destruct (turns s l G D) as (s1 & S1 & S2 & S3 & S4 & S5 & S6 & S7 & S8 & S9); [lia|lia|assumption|].
      destruct (TK s1) as (s' & T1 & T2 & T3 & T4 & T5 & T6); auto; try congruence.
      * intro X; rewrite X in S9; discriminate.
      * rewrite S5, S9, Nat.mul_succ_r; lia.
      * exists s'; repeat split; auto; try apply T2; eapply goes_trans; eauto.
Qed.

(* Nothing is ever taken for corrupt. *)
Lemma not_spoiled : forall m p k th, good (St m p (spoiled k th)) -> False.
Proof.
  intros m p k th [(own & stack & O) _]; destruct (in_con _ _ _ _ _ O) as [_ _ C _].
  cbn in C; lia.
Qed.

Definition known (s s' : state) (l : nat) : Prop :=
  goes s s' /\ good s' /\ prod s' = prod s.

(* The last look at a lane. *)
Lemma looks : forall s l, good s -> doing (con s) = CHead l true ->
  adopted (lane (con s) l) <> [] ->
  exists s', known s s' l /\ doing (con s') = CIdle /\ orphan (lane (con s') l) = true
    /\ adopted (lane (con s') l) <> [].
Proof.
  intros s l G D A.
  destruct (can_load Ordered (Head l) (mem s) (cth (con s))) as (th & LO); [apply G|].
  assert (ST : step s (Collect Continue (length (mem s (Head l)) - 1)) = Some (St (mem s) (prod s)
    (if newest (mem s) (Head l) <? taken (lane (con s) l) then spoiled (con s) th
     else update (con s) th (CLost l true) l (set_head (lane (con s) l) (newest (mem s) (Head l)))))).
  { cbn; unfold cstep; rewrite D; cbn; rewrite LO; reflexivity. }
  pose proof (good_step _ _ _ G ST) as G1.
  destruct (_ <? _); [exfalso; eapply not_spoiled; eauto|].
  match type of ST with _ = Some ?x => set (s1 := x) in * end.
  destruct (can_load Relaxed (Dropped l) (mem s1) (cth (con s1))) as (th2 & LO2); [apply G1|].
  assert (ST2 : step s1 (Collect Continue (length (mem s1 (Dropped l)) - 1)) = Some (St (mem s1) (prod s1)
    (update (con s1) th2 CIdle l (set_lost (lane (con s1) l) (newest (mem s1) (Dropped l)) true)))).
  { cbn; unfold cstep; cbn; cbn in LO2; rewrite LO2; reflexivity. }
  eexists; split; [split; [|split]|].
  - refine (goes_on _ _ _ _ _ _ ST2); [|exact Logic.I].
    refine (goes_on _ _ _ _ (goes_none _) _ ST); exact Logic.I.
  - eapply good_step; eauto.
  - reflexivity.
  - cbn; rewrite !Nat.eqb_refl; cbn; rewrite orb_true_r; auto.
Qed.

Lemma looks_first : forall s l, good s -> doing (con s) = CIdle -> chain (prod s l) <> [] ->
  heard (lane (con s) l) = true \/ pc (prod s l) = PEnd ->
  exists s', known s s' l /\ doing (con s') = CIdle /\ orphan (lane (con s') l) = true
    /\ adopted (lane (con s') l) <> [].
Proof.
  intros s l G D CH HE.
  pose proof (proj1 G) as (own & stack & OW); pose proof (in_lane _ _ _ _ _ OW l) as K.
  destruct (lk_state _ _ _ _ _ _ _ _ K) as [SC SL].
  assert (N : newest (mem s) (State l) = phase (prod s l)).
  { assert (P : 0 < length (mem s (State l))) by lia. pose proof (counts_newest _ _ SC P); lia. }
  assert (NZ : newest (mem s) (State l) =? 0 = false).
  { rewrite N; unfold phase; destruct (chain (prod s l)); [congruence|destruct (pc (prod s l)); reflexivity]. }
  assert (EN : (newest (mem s) (State l) =? 2) || heard (lane (con s) l) = true).
  { destruct HE as [HE|HE]; [rewrite HE; apply orb_true_r|].
    rewrite N; unfold phase; rewrite HE; destruct (chain (prod s l)); [congruence|reflexivity]. }
  destruct (can_load Ordered (State l) (mem s) (cth (con s))) as (th & LO); [apply G|].
  assert (ST : step s (Collect (Look l) (length (mem s (State l)) - 1)) = Some (St (mem s) (prod s)
    (goto (con s) th match adopted (lane (con s) l) with [] => CAdopt l true | _ => CHead l true end))).
  { cbn; unfold cstep; rewrite D; cbn; rewrite LO, NZ, EN; reflexivity. }
  pose proof (good_step _ _ _ G ST) as G1.
  destruct (adopted (lane (con s) l)) as [|a ad] eqn:A.
  - match type of ST with _ = Some ?x => set (s1 := x) in * end.
    destruct (can_load Relaxed (First l) (mem s1) (cth (con s1))) as (th2 & LO2); [apply G1|].
    assert (ST2 : step s1 (Collect Continue (length (mem s1 (First l)) - 1)) = Some (St (mem s1) (prod s1)
      (if newest (mem s1) (First l) =? 0 then spoiled (con s1) th2
       else update (con s1) th2 (CHead l true) l (adopt (lane (con s1) l) (newest (mem s1) (First l) - 1))))).
    { cbn; unfold cstep; cbn; cbn in LO2; rewrite LO2; reflexivity. }
    pose proof (good_step _ _ _ G1 ST2) as G2.
    destruct (newest (mem s1) (First l) =? 0); [exfalso; eapply not_spoiled; eauto|].
    match type of ST2 with _ = Some ?x => set (s2 := x) in * end.
    destruct (looks s2 l G2 eq_refl) as (s' & (T1 & T2 & T3) & T4).
    { cbn; rewrite Nat.eqb_refl; cbn; destruct (adopted (lane (con s) l)); discriminate. }
    exists s'; split; [split; [|split; auto]|assumption].
    eapply goes_trans; [|exact T1]. refine (goes_on _ _ _ _ _ _ ST2); [|exact Logic.I].
    refine (goes_on _ _ _ _ (goes_none _) _ ST); exact Logic.I.
  - match type of ST with _ = Some ?x => set (s1 := x) in * end.
    destruct (looks s1 l G1 eq_refl) as (s' & (T1 & T2 & T3) & T4).
    { cbn; rewrite A; discriminate. }
    exists s'; split; [split; [|split; auto]|assumption].
    eapply goes_trans; [|exact T1].
    refine (goes_on _ _ _ _ (goes_none _) _ ST); exact Logic.I.
Qed.

Lemma run_more : forall cs s s1 c s2, Lane.run room limit event ours s cs = Some s1 ->
  step s1 c = Some s2 -> Lane.run room limit event ours s (cs ++ [c]) = Some s2.
Proof.
  induction cs as [|a cs IH]; cbn; intros s s1 c s2 R S.
  - injection R as ->; rewrite S; reflexivity.
  - destruct (step s a); [eauto|discriminate].
Qed.

Lemma goes_reachable : forall s s', goes s s' ->
  Lane.reachable room limit event s -> Lane.reachable room limit event s'.
Proof.
  intros s s' G R; induction G as [|s1 c s2 G IH B S]; [assumption|].
  destruct IH as (cs & IH); exists (cs ++ [c]); eapply run_more; eauto.
Qed.

Lemma reachable_good : forall s, Lane.reachable room limit event s -> good s.
Proof.
  intros s R; split; [eapply reachable_inv; eauto|]. destruct R as (cs & R).
  assert (X : forall cs s0, views_in s0 -> Lane.run room limit event ours s0 cs = Some s -> views_in s).
  { induction cs0 as [|c cs0 IH]; cbn; intros s0 V H; [congruence|].
    destruct (step s0 c) as [s1|] eqn:S; [|discriminate]. eapply IH; [|exact H]. eapply step_in; eauto. }
  eapply X; [apply views_in0|exact R].
Qed.

(*
   A thread that has opened a lane has left, or is dead, wherever it was, and whatever other
   threads have left undone: the collector alone can read the lane to its end.  Then it has
   all that was published, and written = collected + lost.
*)
Theorem drained : forall s l, Lane.reachable room limit event s ->
  ended (prod s l) -> chain (prod s l) <> [] -> doing (con s) = CIdle ->
  exists s', goes s s' /\ prod s' = prod s
    /\ accepted (lane (con s') l) = kept (items (prod s l))
    /\ lost (lane (con s') l) = dropped (prod s l)
    /\ events (prod s l) = homeless (prod s l) + events_in (accepted (lane (con s') l))
                           + lost (lane (con s') l).
Proof.
  intros s l R E CH D; pose proof (reachable_good s R) as G.
  assert (S1 : exists s1, known s s1 l /\ doing (con s1) = CIdle
    /\ (heard (lane (con s1) l) = true \/ pc (prod s1 l) = PEnd)).
  { destruct E as [E|E].
    - assert (ST : exists k, step s (Mourn l) = Some (St (mem s) (prod s) k)
        /\ doing k = CIdle /\ heard (lane k l) = true).
      { cbn; unfold mourn; rewrite E, D; eexists; split; [reflexivity|].
        cbn; rewrite Nat.eqb_refl; auto. }
      destruct ST as (k & ST & K1 & K2); eexists; split; [split; [|split]|].
      + refine (goes_on _ _ _ _ (goes_none _) _ ST); exact Logic.I.
      + eapply good_step; eauto.
      + reflexivity.
      + auto.
    - exists s; split; [split; [apply goes_none|auto]|auto]. }
  destruct S1 as (s1 & (T1 & T2 & T3) & T4 & T5).
  destruct (looks_first s1 l T2 T4) as (s2 & (U1 & U2 & U3) & U4 & U5 & U6); [congruence|assumption|].
  destruct (reads_all _ s2 l U2 U4 U5 U6 (le_n _)) as (s' & V1 & V2 & V3 & V4 & V5 & V6).
  assert (GO : goes s s') by (eapply goes_trans; [exact T1|]; eapply goes_trans; eauto).
  assert (PR : prod s' = prod s) by congruence.
  destruct (written_is_collected_plus_lost room limit event some_room honest s' l
    (goes_reachable _ _ GO R) V5 V6) as (W1 & W2 & W3).
  rewrite PR in *; exists s'; auto.
Qed.

End Drain.

(* For proof/check-coq: together they must be "Closed under the global context". *)
Definition all_theorems := (
  @lane_safety,
  @events_are_whole,
  @heads_between_events,
  @events_in_order,
  @events_accounted,
  @written_is_collected_plus_lost,
  @one_lane_per_chunk,
  @chunk_not_reused,
  @stores_are_newest,
  @a_chunk_comes_back,
  @necessity_of_publish,
  @necessity_of_look,
  @necessity_of_open,
  @necessity_of_close,
  @necessity_of_state_look,
  @necessity_of_give,
  @necessity_of_pop,
  @padding_is_passed,
  @a_gap_is_between_events,
  @a_part_is_left,
  @necessity_of_one_publish,
  @necessity_of_padding,
  @homeless_total,
  @drained).
Print Assumptions all_theorems.
