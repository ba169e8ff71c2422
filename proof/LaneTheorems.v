(* SPDX-License-Identifier: MIT *)
(* LaneTheorems.v - what is proven of lanes: docs/proof.md has the same in words. *)
Require Import Arith List Lia Bool Cantor.
Require Import Memory Lane LaneInv LaneThread LanePool LaneCursor LaneSteps LaneCollect.
Import ListNotations.

Section Theorems.

Variable room limit : nat.
Variable event : nat -> nat -> item.
Hypothesis some_room : 0 < room.
Hypothesis honest : forall l k, event_ok room (event l k).

Notation inv := (LaneSteps.inv room event).
Notation step := (Lane.step room limit event ours).
Notation reachable := (Lane.reachable room limit event).

Lemma inv0 : inv state0.
Proof.
  exists (fun _ => Fresh), []; constructor; cbn [mem prod con state0].
  - constructor.
    + intro; cbn; lia.
    + intros [|[|t]] x H; cbn in H; try discriminate; injection H as <-; reflexivity.
    + reflexivity.
    + constructor.
    + intro c; split; [contradiction|discriminate].
    + discriminate.
    + intros [|[|t]] x H; cbn in H; try discriminate; injection H as <-; reflexivity.
    + intro c; cbn; split; [lia|reflexivity].
    + intros; cbn; lia.
  - assert (NN : forall (A : Type) j (c : A), nth_error [] j = Some c -> False)
      by (intros A [|j] c N; discriminate).
    assert (C0 : forall x : place, counts memory0 x)
      by (intros x [|[|t]] y H; cbn in H; try discriminate; injection H as <-; reflexivity).
    intro l; constructor; change (log producer0) with (@nil record);
      cbn [pth pc dead chain items events gap dropped homeless adopted head orphan
      heard given lost taken accepted producer0 cursor0 collector0 cth lane cur thread0 length
      holds]; intros; try discriminate; try (exfalso; eapply NN; eauto; fail).
    + split; discriminate.
    + split; [discriminate|]. intros [H _]; exfalso; eapply NN; eauto.
    + destruct H0 as [H0|[j H0]]; discriminate.
    + unfold covers; cbn; lia.
    + lia.
    + lia.
    + destruct done; discriminate.
    + split; [reflexivity|]. intros [|[|t]] x H; cbn in H; try discriminate; injection H as <-; reflexivity.
    + intros j c N; exfalso; eapply NN; eauto.
    + split; [apply C0|reflexivity].
    + destruct t; discriminate.
    + split; [apply C0|reflexivity].
    + exists 0; repeat split; constructor.
    + exact I.
    + exists []; reflexivity.
    + exists [], []; repeat split.
    + lia.
    + lia.
    + lia.
    + right; left; split; reflexivity.
    + exists 0; repeat split; lia.
    + intros j c N; exfalso; eapply NN; eauto.
  - intro; exact I.
  - constructor; cbn; try discriminate; auto. intro; split; discriminate.
  - intros c i w _; cbn; lia.
Qed.

Lemma step_inv : forall s c s', inv s -> step s c = Some s' -> inv s'.
Proof.
  intros s c s' (own & stack & O) H; unfold Lane.step in H.
  assert (SP : forall l p, St (mem s) (fun l' => if l =? l' then p else prod s l') (con s)
    = St (mem s) (set_prod (prod s) l p) (con s)) by reflexivity.
  destruct c as [l t|l|l|l other|l|l|a t].
  - destruct (dead (prod s l)) eqn:D; [discriminate|]. unfold after in H.
    destruct (Lane.pstep _ _ _ _ _ _ _ _) as [[m p]|] eqn:P; [|discriminate].
    injection H as <-; eapply pstep_inv; eauto.
  - destruct (dead (prod s l)) eqn:D; [discriminate|]. unfold after, pclose in H.
    destruct (pc (prod s l)) eqn:E; try discriminate.
    destruct (chain (prod s l)) eqn:CH; [discriminate|]. cbn [o_state ours] in H.
    destruct (store _ _ _ _ _) as [m1 th1] eqn:ST; injection H as <-.
    pose proof (in_lane _ _ _ _ _ O l) as K.
    assert (NC : chain (prod s l) <> []) by congruence.
    assert (K' := lane_close _ _ some_room honest _ _ _ _ _ _ _ _ K D E NC ST).
    destruct (store_spec _ _ _ _ _ _ _ ST) as (y & -> & _).
    eapply store_step with (own' := own); eauto; try congruence; try discriminate;
      try (exists []; rewrite app_nil_r; reflexivity).
    + left; reflexivity.
    + right; discriminate.
    + exact I.
  - destruct (dead (prod s l)) eqn:D; [discriminate|]. unfold still, pgive_up, set_producer in H.
    pose proof (in_lane _ _ _ _ _ O l) as K.
    pose proof (lk_pc _ _ _ _ _ _ _ _ K D) as PC; unfold LaneInv.pc_ok in PC.
    destruct (pc (prod s l)) eqn:E; try discriminate; injection H as <-;
      (eapply silent_step; eauto; try congruence; try exact I; rewrite E; reflexivity).
  - destruct (dead (prod s l)) eqn:D; [discriminate|]. unfold still, pmove, set_producer in H.
    destruct (pc (prod s l)) eqn:E; try discriminate; injection H as <-.
    eapply silent_step; eauto; try congruence; try exact I; try (rewrite E; reflexivity).
    intro; apply join_l.
  - destruct (dead (prod s l)) eqn:D; [discriminate|]. injection H as <-.
    destruct O as [OP OL OO OC OB]; exists own, stack; constructor; cbn [mem prod con set_producer]; auto.
    + intro l'; destruct (Nat.eqb_spec l l') as [<-|N]; [|auto]. apply lane_die; auto.
    + intro l'; destruct (Nat.eqb_spec l l') as [<-|N]; [|auto]. apply (OO l).
    + destruct OC as [C1 C2 C3 C4]; constructor; auto; unfold doing_ok in *.
      assert (LO : forall l' e, last_ok (mem s) (prod s l') l' (lane (con s) l') (cur (cth (con s))) e ->
        last_ok (mem s) (if l =? l' then pdie (prod s l) else prod s l') l' (lane (con s) l')
          (cur (cth (con s))) e).
      { intros l' e L; destruct (Nat.eqb_spec l l') as [<-|N]; [|assumption].
        intro X; destruct (L X) as [_ L2]; split; [left; reflexivity|assumption]. }
      destruct (doing (con s)); auto.
      * destruct C4 as (D1 & D2 & D3 & D4); split; [assumption|]; split; [|split; [assumption|auto]].
        destruct (Nat.eqb_spec l l0) as [<-|N]; assumption.
      * destruct C4 as (D1 & D2); split; [auto|].
        intro X; destruct (Nat.eqb_spec l l0) as [<-|N]; auto.
      * destruct (Nat.eqb_spec l l0) as [<-|N]; assumption.
  - destruct (dead (prod s l)) eqn:D; [|discriminate]. unfold mourn in H.
    destruct (doing (con s)) eqn:DK; try discriminate; injection H as <-.
    pose proof (in_lane _ _ _ _ _ O l) as K.
    eapply con_silent; eauto.
    + intro; apply join_l.
    + eapply lanes_update; eauto; [intro; apply join_l|]. apply cursor_hear; auto.
      * eapply lanes_more; eauto; intro; apply join_l.
      * split; intros; (eapply covers_mono; [apply join_r|]).
        -- apply (lk_mine _ _ _ _ _ _ _ _ K); assumption.
        -- eapply (lk_sees _ _ _ _ _ _ _ _ K); eauto.
           right; exists j; apply (lk_linked _ _ _ _ _ _ _ _ K); auto.
    + apply (in_con _ _ _ _ _ O).
    + rewrite DK; reflexivity.
    + exact I.
  - destruct (Lane.cstep _ _ _ _ _ _) as [[m k]|] eqn:C; [|discriminate].
    injection H as <-; eapply cstep_inv; eauto.
Qed.

Lemma run_inv : forall cs s s', inv s -> Lane.run room limit event ours s cs = Some s' -> inv s'.
Proof.
  induction cs as [|c cs IH]; intros s s' I H; cbn in H; [congruence|].
  destruct (step s c) as [s1|] eqn:S; [|discriminate]. eauto using step_inv.
Qed.

Lemma reachable_inv : forall s, reachable s -> inv s.
Proof. intros s (cs & H); eapply run_inv; eauto using inv0. Qed.

(* ---- what the collector accepts --------------------------------------------------------- *)

(*
   What the collector has read of a lane is, word for word, the beginning of what the lane's
   thread has published, without the padding: whole events, in order, each once.  Links, heads and
   records are never taken for corrupt.
*)
Theorem lane_safety : forall s l, reachable s ->
  (exists done rest, items (prod s l) = done ++ rest /\ accepted (lane (con s) l) = kept done
     /\ taken (lane (con s) l) = length (concat done))
  /\ corrupt (con s) = 0.
Proof.
  intros s l R; destruct (reachable_inv s R) as (own & stack & O).
  pose proof (in_lane _ _ _ _ _ O l) as K.
  destruct (lk_accepted _ _ _ _ _ _ _ _ K) as (done & rest & E1 & E2 & E3).
  split; [eauto|apply (in_con _ _ _ _ _ O)].
Qed.

(*
   What is accepted is one event, with all its records and no others, or a record that says how many
   are missing: never a part of an event, and no pieces of two.
*)
Theorem events_are_whole : forall s l it, reachable s -> In it (accepted (lane (con s) l)) ->
  (exists k, k < events (prod s l) /\ it = event l k) \/ exists nr, it = [gap_record nr].
Proof.
  intros s l it R I; destruct (lane_safety s l R) as ((done & rest & E & A & _) & _).
  destruct (reachable_inv s R) as (own & stack & O); pose proof (in_lane _ _ _ _ _ O l) as K.
  destruct (lk_tells _ _ _ _ _ _ _ _ K) as (n & T & EV & _).
  rewrite A in I; unfold kept in I; apply filter_In in I; destruct I as [I P]; apply negb_true_iff in P.
  assert (I' : In it (items (prod s l))) by (rewrite E; apply in_or_app; auto).
  assert (X : forall r m, tells event l (homeless (prod s l)) r m -> In it r ->
    (exists k, k < m /\ it = event l k) \/ (exists nr, it = [gap_record nr])).
  { intros r m T'; induction T' as [|r m T' IH|r m nr T' IH|r m it' T' IH P']; intro J; [contradiction| | |];
      apply in_app_or in J; destruct J as [J|[<-|[]]]; try (right; eauto; fail);
      try (destruct (IH J) as [(k & L & Z)|Z]; [left; exists k; split; [lia|assumption]|right; assumption]).
    - left; exists m; split; [lia|reflexivity].
    - congruence. }
  destruct (X _ _ T I') as [(k & L & Z)|Z]; [left; exists k; split; [lia|assumption]|right; assumption].
Qed.

(* The head that the collector has loaded is never in the middle of an event. *)
Theorem heads_between_events : forall s l, reachable s ->
  exists h, h <= length (items (prod s l))
    /\ head (lane (con s) l) = length (concat (firstn h (items (prod s l)))).
Proof.
  intros s l R; destruct (reachable_inv s R) as (own & stack & O).
  pose proof (in_lane _ _ _ _ _ O l) as K.
  destruct (lk_head_seen _ _ _ _ _ _ _ _ K) as (h & _ & A & B); eauto.
Qed.

Lemma tells_prefix : forall l k a b n, tells event l k (a ++ b) n ->
  exists n', n' <= n /\ tells event l k a n'.
Proof.
  intros l k a b; induction b as [|x b IH] using rev_ind; intros n T.
  - rewrite app_nil_r in T; eauto.
  - rewrite app_assoc in T; inversion T as [E|r n' T' E|r n' nr T' E|r n' it T' P E].
    + destruct (a ++ b); discriminate.
    + apply app_inj_tail in E; destruct E as [-> _]; destruct (IH _ T') as (m & L & M).
      exists m; split; [lia|assumption].
    + apply app_inj_tail in E; destruct E as [-> _]; destruct (IH _ T') as (m & L & M).
      exists m; split; [lia|assumption].
    + apply app_inj_tail in E; destruct E as [-> _]; eauto.
Qed.

(*
   The accepted records account for the thread's events one after another, from the first of its
   lane: each is there, or is counted in a gap at its place.
*)
Theorem events_in_order : forall s l, reachable s ->
  exists n, tells event l (homeless (prod s l)) (accepted (lane (con s) l)) n
    /\ n = homeless (prod s l) + events_in (accepted (lane (con s) l))
            + lost_in (accepted (lane (con s) l))
    /\ n <= events (prod s l).
Proof.
  intros s l R; destruct (lane_safety s l R) as ((done & rest & E & A & _) & _).
  destruct (reachable_inv s R) as (own & stack & O); pose proof (in_lane _ _ _ _ _ O l) as K.
  destruct (lk_tells _ _ _ _ _ _ _ _ K) as (n & T & EV & _); rewrite E in T.
  destruct (tells_prefix _ _ _ _ _ T) as (n' & L & T'); apply (tells_kept _ _ honest) in T'.
  rewrite A; exists n'; split; [assumption|]. split; [|lia]. eapply tells_sum; eauto.
Qed.

(* At any moment, events = published + dropped + those before there was a lane. *)
Theorem events_accounted : forall s l, reachable s ->
  events (prod s l) = homeless (prod s l) + events_in (items (prod s l)) + dropped (prod s l).
Proof.
  intros s l R; destruct (reachable_inv s R) as (own & stack & O).
  pose proof (in_lane _ _ _ _ _ O l) as K.
  destruct (lk_tells _ _ _ _ _ _ _ _ K) as (n & T & EV & DR).
  apply (tells_sum _ _ honest) in T; lia.
Qed.

(*
   When the collector has read all of a lane that it knows to be at its end (closed, or of a
   dead thread), written = collected + lost, with the count of lost events that it has loaded.
*)
Theorem written_is_collected_plus_lost : forall s l, reachable s ->
  let u := lane (con s) l in
  orphan u = true -> taken u = head u ->
  accepted u = kept (items (prod s l))
  /\ lost u = dropped (prod s l)
  /\ events (prod s l) = homeless (prod s l) + events_in (accepted u) + lost u.
Proof.
  intros s l R u OR A; pose proof (events_accounted s l R) as EV.
  destruct (reachable_inv s R) as (own & stack & O).
  pose proof (in_lane _ _ _ _ _ O l) as K; fold u in K.
  destruct (lk_orphan _ _ _ _ _ _ _ _ K OR) as (_ & _ & HL & LO).
  destruct (lk_accepted _ _ _ _ _ _ _ _ K) as (done & rest & E1 & E2 & E3).
  assert (EL : items (prod s l) = done).
  { destruct rest as [|it rest]; [rewrite E1; apply app_nil_r|exfalso].
    destruct (lk_items _ _ _ _ _ _ _ _ K _ _ _ E1) as (I & _).
    unfold log in HL; rewrite E1, concat_app, app_length in HL; cbn in HL; rewrite app_length in HL.
    rewrite <- A, E2 in HL; lia. }
  split; [congruence|]; split; [assumption|].
  destruct (kept_sums done) as [S1 _]; rewrite E3, S1, EV, EL, LO; reflexivity.
Qed.

(* ---- chunks -------------------------------------------------------------------------------- *)

(* Where the next step of a thread stores, if it does so at one of its chunks or its lane. *)
Definition target (l : nat) (p : producer) : option place :=
  match pc p with
  | PGot c => Some (Link c)
  | PFirst _ => Some (First l)
  | POpen _ => Some (State l)
  | PLinkTo _ => Some (Link (last (chain p) 0))
  | PPut _ i w => Some (at_record room p i w)
  | PPublish _ => Some (Head l)
  | PFull => match chain p with [] => None | _ => Some (Dropped l) end
  | _ => None
  end.

(* It stores nowhere else, except for read-modify-writes of the pool and of Homeless. *)
Lemma target_only : forall l t m p m' p' x,
  Lane.pstep room limit event ours l t m p = Some (m', p') ->
  chunk_of x <> None \/ lane_of x <> None -> target l p <> Some x -> m' x = m x.
Proof.
  intros l t m p m' p' x H X T; unfold Lane.pstep in H; unfold target in T.
  assert (NX : forall y, chunk_of y = None -> lane_of y = None -> y <> x).
  { intros y Y1 Y2 ->; destruct X; congruence. }
  destruct (pc p);
    try (injection H as <- _; reflexivity);
    try (destruct (load _ _ _ _ _) as [[v th]|]; [|discriminate]; injection H as <- _; reflexivity);
    try (destruct (cas _ _ _ _ _ _) as [[m1 th]|] eqn:C; injection H as <- _; [|reflexivity];
         destruct (cas_spec _ some_room _ _ _ _ _ _ _ _ C) as (y & -> & _);
         apply append_other, NX; reflexivity);
    try (destruct (store _ _ _ _ _) as [m1 th] eqn:ST; injection H as <- _;
         destruct (store_spec _ _ _ _ _ _ _ ST) as (y & -> & _);
         apply append_other; congruence);
    try discriminate.
  destruct (chain p).
  - unfold fetch_add in H; injection H as <- _; apply append_other, NX; reflexivity.
  - destruct (store _ _ _ _ _) as [m1 th] eqn:ST; injection H as <- _.
    destruct (store_spec _ _ _ _ _ _ _ ST) as (y & -> & _); apply append_other; congruence.
Qed.

(* Chunk c is the collector's: it is chunk j of lane l, found and not given back. *)
Definition has_chunk (s : state) (l j c : nat) : Prop :=
  nth_error (adopted (lane (con s) l)) j = Some c /\ given (lane (con s) l) <= j.

Lemma has_chunk_linked : forall s own stack l j c,
  LaneSteps.owned room event s own stack -> has_chunk s l j c -> own c = Linked l j.
Proof.
  intros s own stack l j c O [N G]; pose proof (in_lane _ _ _ _ _ O l) as K.
  apply (lk_linked _ _ _ _ _ _ _ _ K); split; [|assumption].
  destruct (lk_adopted _ _ _ _ _ _ _ _ K) as (rest & E).
  rewrite E, nth_error_app1; [assumption|]. apply nth_error_Some; congruence.
Qed.

(* No chunk is in two places of the collector's lanes. *)
Theorem one_lane_per_chunk : forall s l j l' j' c, reachable s ->
  has_chunk s l j c -> has_chunk s l' j' c -> l = l' /\ j = j'.
Proof.
  intros s l j l' j' c R H H'; destruct (reachable_inv s R) as (own & stack & O).
  pose proof (has_chunk_linked _ _ _ _ _ _ O H); pose proof (has_chunk_linked _ _ _ _ _ _ O H').
  split; congruence.
Qed.

(*
   A thread that stores into a chunk which the collector has stores into its own lane, past
   the head that the collector knows: a record that is not published, or the link to a chunk
   that no published record is in.
*)
Theorem chunk_not_reused : forall s l l' j c x, reachable s ->
  has_chunk s l' j c -> chunk_of x = Some c ->
  dead (prod s l) = false -> target l (prod s l) = Some x ->
  l = l'
  /\ match x with
     | Word _ i _ => head (lane (con s) l) <= room * j + i
     | _ => head (lane (con s) l) <= room * S j
     end.
Proof.
  intros s l l' j c x R H X D T; destruct (reachable_inv s R) as (own & stack & O).
  pose proof (has_chunk_linked _ _ _ _ _ _ O H) as OC; pose proof (in_lane _ _ _ _ _ O l) as K.
  pose proof (lk_pc _ _ _ _ _ _ _ _ K D) as PC; pose proof (lk_bounds _ _ _ _ _ _ _ _ K) as B.
  unfold LaneInv.pc_ok in PC; unfold target in T.
  destruct (pc (prod s l)) eqn:E; try discriminate;
    try (injection T as <-; discriminate).
  - injection T as <-; injection X as <-.
    assert (own c0 = Popped l) by (apply (lk_popped _ _ _ _ _ _ _ _ K); rewrite E; reflexivity).
    congruence.
  - injection T as <-; injection X as X; destruct PC as (FU & CH & _).
    assert (AG : given (lane (con s) l) <= length (chain (prod s l)) - 1)
      by (eapply alive_given; [exact K|exact D|congruence]).
    destruct (@exists_last _ _ CH) as (ch & b & EC).
    assert (OB : own c = Linked l (length ch)).
    { apply (lk_linked _ _ _ _ _ _ _ _ K); rewrite EC in *; rewrite last_last in X.
      rewrite app_length in AG; cbn in AG; split; [|lia].
      rewrite nth_error_app2, Nat.sub_diag by lia; cbn; congruence. }
    rewrite OC in OB; injection OB as -> ->; split; [reflexivity|].
    unfold is_full in FU; rewrite EC, app_length in FU; cbn in FU.
    replace (length ch + 1) with (S (length ch)) in FU by lia; lia.
  - destruct PC as (_ & IL & RO & F & _).
    destruct (at_record_own _ _ some_room _ _ _ _ _ _ i K D ltac:(congruence) RO ltac:(lia))
      as (c' & NC & CN & G & OC').
    unfold at_record in T; rewrite CN in T; injection T as <-; injection X as ->.
    rewrite OC in OC'; injection OC' as -> ->; split; [reflexivity|].
    pose proof (Nat.div_mod (length (log (prod s l))) room ltac:(lia)); lia.
  - destruct (chain (prod s l)); [discriminate|]. injection T as <-; discriminate.
Qed.

(*
   Every thread that stores has seen all earlier stores to that place, so that the store
   could not go anywhere else in the place's order.
*)
Theorem stores_are_newest : forall s, reachable s ->
  (forall l x, dead (prod s l) = false -> target l (prod s l) = Some x ->
     covers (mem s) (cur (pth (prod s l))) x)
  /\ (forall c top, doing (con s) = CGiveLink c top ->
        covers (mem s) (cur (cth (con s))) (Link c)).
Proof.
  intros s R; destruct (reachable_inv s R) as (own & stack & O); split.
  - intros l x D T; pose proof (in_lane _ _ _ _ _ O l) as K.
    pose proof (lk_pc _ _ _ _ _ _ _ _ K D) as PC; unfold LaneInv.pc_ok in PC; unfold target in T.
    destruct (pc (prod s l)) eqn:E; try discriminate;
      try (injection T as <-; apply (lk_mine _ _ _ _ _ _ _ _ K); reflexivity).
    + injection T as <-; eapply (lk_sees _ _ _ _ _ _ _ _ K); [reflexivity|left].
      apply (lk_popped _ _ _ _ _ _ _ _ K); rewrite E; reflexivity.
    + injection T as <-; destruct PC as (FU & CH & _).
      eapply (lk_sees _ _ _ _ _ _ _ _ K); [reflexivity|right].
      exists (length (chain (prod s l)) - 1); apply (lk_linked _ _ _ _ _ _ _ _ K).
      split; [|eapply alive_given; [exact K|exact D|congruence]].
      destruct (@exists_last _ _ CH) as (ch & b & EC); rewrite EC, last_last, app_length; cbn.
      rewrite nth_error_app2 by lia; replace (length ch + 1 - 1 - length ch) with 0 by lia.
      reflexivity.
    + injection T as <-; destruct PC as (_ & IL & RO & F & _).
      destruct (at_record_own _ _ some_room _ _ _ _ _ _ i K D ltac:(congruence) RO ltac:(lia))
        as (c' & NC & CN & G & OC').
      unfold at_record; rewrite CN. eapply (lk_sees _ _ _ _ _ _ _ _ K); [reflexivity|eauto].
    + destruct (chain (prod s l)); [discriminate|]. injection T as <-.
      apply (lk_mine _ _ _ _ _ _ _ _ K); reflexivity.
  - intros c top D; pose proof (in_con _ _ _ _ _ O) as C.
    apply (ck_sees _ _ _ _ _ C c); [|reflexivity]. apply (ck_giving _ _ _ _ _ C).
    rewrite D; reflexivity.
Qed.

End Theorems.
