(* SPDX-License-Identifier: MIT *)
(* LaneSteps.v - every step of every thread keeps the whole invariant. *)
Require Import Arith List Lia Bool Cantor.
Require Import Memory Lane LaneInv LaneThread LanePool LaneCursor.
Import ListNotations.

Section Steps.

Variable room limit : nat.
Variable event : nat -> nat -> item.
Hypothesis some_room : 0 < room.
Hypothesis honest : forall l k, event_ok room (event l k).

Notation lane_ok := (LaneInv.lane_ok room event).
Notation step := (Lane.step room limit event).

(* ---- the collector's own part ------------------------------------------------------- *)

Definition giving (c : cpc) : option nat :=
  match c with CGive c | CGiveLink c _ | CGiveCas c _ => Some c | _ => None end.

Definition last_ok (m : memory) (p : producer) (l : nat) (u : cursor) (v : view) (e : bool)
  : Prop :=
  e = true -> ended p /\ settled m l (chain p) (given u) v.

Definition doing_ok (m : memory) (prod : nat -> producer) (k : collector) : Prop :=
  match doing k with
  | CAdopt l e =>
      adopted (lane k l) = [] /\ chain (prod l) <> [] /\ covers m (cur (cth k)) (First l)
      /\ last_ok m (prod l) l (lane k l) (cur (cth k)) e
  | CHead l e => last_ok m (prod l) l (lane k l) (cur (cth k)) e
  | CLost l e =>
      last_ok m (prod l) l (lane k l) (cur (cth k)) e
      /\ (e = true -> head (lane k l) = length (log (prod l)))
  | CCopy l rs r =>
      let u := lane k l in
      exists done it rest, items (prod l) = done ++ it :: rest
        /\ taken u = length (concat done) /\ accepted u = kept done
        /\ rs = firstn (length rs) it /\ length rs < length it
        /\ (rs <> [] -> padding it = false)
        /\ r = firstn (length r) (nth (length rs) it []) /\ length r < words
        /\ taken u + length it <= head u /\ taken u < room * length (adopted u)
  | CGiveCas c top => newest m (Link c) = number_of top
  | _ => True
  end.

Record con_ok (m : memory) (own : nat -> owner) (prod : nat -> producer) (k : collector)
  : Prop := {
  ck_giving : forall c, own c = Giving <-> giving (doing k) = Some c;
  ck_sees : forall c, own c = Giving -> covers_chunk m (cur (cth k)) c;
  ck_corrupt : corrupt k = 0;
  ck_doing : doing_ok m prod k
}.

(* A chunk has no more records than it has room for. *)
Definition beyond (m : memory) : Prop :=
  forall c i w, room <= i -> length (m (Word c i w)) <= 1.

Record owned (s : state) (own : nat -> owner) (stack : list nat) : Prop := {
  in_pool : pool_ok (mem s) own stack;
  in_lane : forall l, lane_ok (mem s) own l (prod s l) (lane (con s) l) (cur (cth (con s)));
  in_pop : forall l, pop_ok (mem s) own (prod s l);
  in_con : con_ok (mem s) own (prod s) (con s);
  in_beyond : beyond (mem s)
}.

Definition inv (s : state) : Prop := exists own stack, owned s own stack.

(* ---- a step of thread l0 --------------------------------------------------------------- *)

Definition mine (own : nat -> owner) (l c : nat) : Prop :=
  own c = Popped l \/ exists j, own c = Linked l j.

Definition stores_at (own : nat -> owner) (l : nat) (x : place) : Prop :=
  lane_of x = Some l \/ (exists c, chunk_of x = Some c /\ mine own l c)
  \/ (chunk_of x = None /\ lane_of x = None).

Record quiet (l0 : nat) (m m' : memory) (own own' : nat -> owner) : Prop := {
  q_mem : m' = m \/ exists x y, m' = append m x y /\ stores_at own l0 x;
  q_own : forall c, own' c = own c
    \/ (mine own' l0 c /\ (mine own l0 c \/ own c = Fresh \/ own c = Stacked))
}.

Lemma mine_other : forall own l c, mine own l c ->
  own c <> Giving /\ own c <> Fresh /\ own c <> Stacked
  /\ forall l', l' <> l -> own c <> Popped l' /\ forall j, own c <> Linked l' j.
Proof.
  intros own l c [M|[j M]]; rewrite M; repeat split; try discriminate; congruence.
Qed.

Lemma quiet_mem : forall l0 m m' own own' x c, quiet l0 m m' own own' ->
  chunk_of x = Some c -> ~ mine own l0 c -> m' x = m x.
Proof.
  intros l0 m m' own own' x c [[->|(x0 & y & -> & S)] _] X N; [reflexivity|].
  apply append_other; intros ->; destruct S as [S|[(c' & S1 & S2)|[S _]]].
  - destruct x; discriminate.
  - assert (c' = c) by congruence; subst; contradiction.
  - congruence.
Qed.

Lemma quiet_apart : forall l0 m m' own own' l, quiet l0 m m' own own' -> l <> l0 ->
  apart m m' own own' l.
Proof.
  intros l0 m m' own own' l Q N; repeat split.
  - intros x X; destruct (q_mem _ _ _ _ _ Q) as [->|(x0 & y & -> & S)]; [reflexivity|].
    apply append_other; intros ->; destruct S as [S|[(c' & S1 & S2)|[_ S]]]; try congruence.
    destruct x; discriminate.
  - intros x c X O; eapply quiet_mem; eauto; intro M; apply mine_other in M.
    destruct M as (_ & _ & _ & M); destruct (M l N) as [M1 M2].
    destruct O as [O|[j O]]; [apply M1|eapply M2]; eauto.
  - destruct (q_own _ _ _ _ _ Q c) as [E|[E _]]; [congruence|].
    intro O; apply mine_other in E; destruct E as (_ & _ & _ & E); destruct (E l N); congruence.
  - destruct (q_own _ _ _ _ _ Q c) as [E|[_ E]]; [congruence|]. intro O; exfalso.
    destruct E as [E|[E|E]]; try congruence.
    apply mine_other in E; destruct E as (_ & _ & _ & E); destruct (E l N); congruence.
  - destruct (q_own _ _ _ _ _ Q c) as [E|[E _]]; [congruence|].
    intro O; apply mine_other in E; destruct E as (_ & _ & _ & E); destruct (E l N).
    exfalso; eapply H0; eauto.
  - destruct (q_own _ _ _ _ _ Q c) as [E|[_ E]]; [congruence|]. intro O; exfalso.
    destruct E as [E|[E|E]]; try congruence.
    apply mine_other in E; destruct E as (_ & _ & _ & E); destruct (E l N) as [_ Z]; eapply Z; eauto.
Qed.

Lemma quiet_giving : forall l0 m m' own own' c, quiet l0 m m' own own' ->
  (own' c = Giving <-> own c = Giving).
Proof.
  intros l0 m m' own own' c Q; destruct (q_own _ _ _ _ _ Q c) as [E|[E1 E2]]; [rewrite E; tauto|].
  apply mine_other in E1; split; intro O; [tauto|].
  destruct E2 as [E2|[E2|E2]]; try congruence. apply mine_other in E2; tauto.
Qed.

Lemma quiet_stacked : forall l0 m m' own own' c, quiet l0 m m' own own' ->
  own' c = Stacked -> own c = Stacked.
Proof.
  intros l0 m m' own own' c Q; destruct (q_own _ _ _ _ _ Q c) as [E|[E1 E2]]; [congruence|].
  apply mine_other in E1; tauto.
Qed.

Lemma quiet_grows : forall l0 m m' own own' x, quiet l0 m m' own own' ->
  length (m x) <= length (m' x).
Proof.
  intros l0 m m' own own' x [[->|(x0 & y & -> & _)] _]; [reflexivity|].
  rewrite append_length; lia.
Qed.

Lemma quiet_pool : forall l0 m m' own own' stack, quiet l0 m m' own own' ->
  pool_ok m own stack -> m' Top = m Top -> m' Used = m Used ->
  (forall c, own' c = own c \/ (mine own' l0 c /\ mine own l0 c)) -> pool_ok m' own' stack.
Proof.
  intros l0 m m' own own' stack Q P MT MU OW; eapply pool_apart; eauto.
  - intro; eapply quiet_grows; eauto.
  - intros c x O X; eapply quiet_mem; eauto; intro M; apply mine_other in M.
    destruct O; tauto.
  - intro c; destruct (OW c) as [E|[E1 E2]]; [rewrite E; tauto|].
    apply mine_other in E1, E2; tauto.
  - intro c; destruct (OW c) as [E|[E1 E2]]; [rewrite E; tauto|].
    apply mine_other in E1, E2; tauto.
Qed.

Definition set_prod (prod : nat -> producer) (l : nat) (p : producer) : nat -> producer :=
  fun l' => if l =? l' then p else prod l'.

Lemma last_apart : forall m m' own own' l p u v e, lane_ok m own l p u v ->
  apart m m' own own' l -> last_ok m p l u v e -> last_ok m' p l u v e.
Proof.
  intros m m' own own' l p u v e K (AL & AC & _) L E; destruct (L E) as (A & [B C]).
  split; [assumption|]; split.
  - intros x X; eapply covers_same; [apply AL|]; auto.
  - intros j c x N G X; eapply covers_same; [|eauto].
    apply (AC x c X); right; exists j; apply (lk_linked _ _ _ _ _ _ _ _ K); auto.
Qed.

Lemma doing_thread : forall m m' own own' prod k l0 p',
  (forall l, lane_ok m own l (prod l) (lane k l) (cur (cth k))) ->
  con_ok m own prod k -> quiet l0 m m' own own' ->
  dead (prod l0) = false -> pc (prod l0) <> PEnd ->
  (exists rest, chain p' = chain (prod l0) ++ rest) ->
  (exists rest, items p' = items (prod l0) ++ rest) ->
  (chain (prod l0) <> [] -> m' (First l0) = m (First l0)) ->
  doing_ok m' (set_prod prod l0 p') k.
Proof.
  intros m m' own own' prod k l0 p' K C Q D E (r1 & R1) (r2 & R2) F.
  assert (LO : forall l e, last_ok m (prod l) l (lane k l) (cur (cth k)) e ->
    last_ok m' (set_prod prod l0 p' l) l (lane k l) (cur (cth k)) e).
  { intros l e L; unfold set_prod; destruct (Nat.eqb_spec l0 l) as [<-|N].
    - intro X; destruct (L X) as ([Y|Y] & _); congruence.
    - eapply last_apart; eauto; eapply quiet_apart; eauto. }
  assert (FI : forall l, chain (prod l) <> [] -> m' (First l) = m (First l)).
  { intros l N; destruct (Nat.eq_dec l l0) as [->|X]; [auto|].
    destruct (quiet_apart _ _ _ _ _ l Q X) as (A & _); apply A; reflexivity. }
  destruct C as [G S _ DO]; unfold doing_ok in *; destruct (doing k) eqn:DK; auto.
  - destruct DO as (D1 & D2 & D3 & D4); split; [assumption|]; split; [|split; [|apply LO; auto]].
    + unfold set_prod; destruct (Nat.eqb_spec l0 l) as [<-|N]; [|assumption].
      rewrite R1; destruct (chain (prod l0)); [congruence|discriminate].
    + eapply covers_same; [apply FI|]; auto.
  - destruct DO as (D1 & D2); split; [apply LO; auto|].
    intro X; unfold set_prod; destruct (Nat.eqb_spec l0 l) as [<-|N]; [|auto].
    destruct (D1 X) as ([Y|Y] & _); congruence.
  - destruct DO as (done & it & rest & D1 & D2); unfold set_prod.
    destruct (Nat.eqb_spec l0 l) as [<-|N]; [|exists done, it, rest; split; assumption].
    exists done, it, (rest ++ r2); split; [|assumption].
    rewrite R2, D1, <- app_assoc; reflexivity.
  - rewrite <- DO; apply newest_same; eapply quiet_mem; eauto; [reflexivity|].
    intro M; apply mine_other in M; destruct M as [M _]; apply M, G; reflexivity.
Qed.

Lemma thread_step : forall s own stack l0 m' own' stack' p',
  owned s own stack -> dead (prod s l0) = false -> pc (prod s l0) <> PEnd ->
  quiet l0 (mem s) m' own own' -> pool_ok m' own' stack' ->
  lane_ok m' own' l0 p' (lane (con s) l0) (cur (cth (con s))) -> pop_ok m' own' p' ->
  (m' Top = mem s Top \/ exists y, m' = append (mem s) Top y /\ tag_of (val y) = length (mem s Top)) ->
  (exists rest, chain p' = chain (prod s l0) ++ rest) ->
  (exists rest, items p' = items (prod s l0) ++ rest) ->
  (chain (prod s l0) <> [] -> m' (First l0) = mem s (First l0)) -> beyond m' ->
  inv (St m' (set_prod (prod s) l0 p') (con s)).
Proof.
  intros s own stack l0 m' own' stack' p' O D E Q P K PO MT R1 R2 F B.
  destruct O as [OP OL OO OC OB]; exists own', stack'; constructor; cbn [mem prod con]; auto.
  - intro l; unfold set_prod; destruct (Nat.eqb_spec l0 l) as [<-|N]; [assumption|].
    eapply lane_ok_apart; eauto; eapply quiet_apart; eauto.
  - intro l; unfold set_prod; destruct (Nat.eqb_spec l0 l) as [<-|N]; [assumption|].
    destruct MT as [MT|(y & -> & T)]; [|eapply pop_late; eauto].
    eapply pop_apart; eauto.
    + intros c x S X; eapply quiet_mem; eauto; intro M; apply mine_other in M; tauto.
    + intros c; eapply quiet_stacked; eauto.
  - constructor.
    + intro c; rewrite (quiet_giving _ _ _ _ _ c Q); apply (ck_giving _ _ _ _ OC).
    + intros c G; apply (quiet_giving _ _ _ _ _ c Q) in G.
      eapply covers_chunk_same; [|apply (ck_sees _ _ _ _ OC); assumption].
      intros x X; eapply quiet_mem; eauto; intro M; apply mine_other in M; tauto.
    + apply (ck_corrupt _ _ _ _ OC).
    + eapply doing_thread; eauto.
Qed.

(* ---- the thread's steps, one by one ---------------------------------------------------------- *)

Ltac same_lists := first [exists []; rewrite app_nil_r; reflexivity | eexists; reflexivity].

Lemma load_more : forall o x t (m : memory) th v th', load o x t m th = Some (v, th') ->
  forall z, cur th z <= cur th' z.
Proof. intros o x t m th v th' H; apply load_spec in H; destruct H as (y & H); apply H. Qed.

Lemma quiet_none : forall l0 m own, quiet l0 m m own own.
Proof. intros; constructor; auto. Qed.

Lemma quiet_store : forall l0 (m : memory) own x y, stores_at own l0 x ->
  quiet l0 m (append m x y) own own.
Proof. intros; constructor; [right; eauto|auto]. Qed.

(* Nothing is stored. *)
Lemma silent_step : forall s own stack l0 th c, owned s own stack ->
  dead (prod s l0) = false -> pc (prod s l0) <> PEnd -> c <> PEnd ->
  (forall x, cur (pth (prod s l0)) x <= cur th x) ->
  holds c = holds (pc (prod s l0)) ->
  LaneInv.pc_ok room event (mem s) l0 (at_pc (prod s l0) th c) ->
  pop_ok (mem s) own (at_pc (prod s l0) th c) ->
  inv (St (mem s) (set_prod (prod s) l0 (at_pc (prod s l0) th c)) (con s)).
Proof.
  intros s own stack l0 th c O D E N V H PC PO.
  eapply thread_step with (own' := own) (stack' := stack); eauto; try same_lists.
  - apply quiet_none.
  - apply O.
  - apply lane_silent; auto; apply O.
  - apply O.
Qed.

(* It stores into its lane, or a chunk of its own. *)
Lemma store_step : forall s own own' stack l0 x y p', owned s own stack ->
  dead (prod s l0) = false -> pc (prod s l0) <> PEnd ->
  stores_at own l0 x -> chunk_of x <> None \/ lane_of x <> None ->
  (forall c, own' c = own c \/ (mine own' l0 c /\ mine own l0 c)) ->
  lane_ok (append (mem s) x y) own' l0 p' (lane (con s) l0) (cur (cth (con s))) ->
  pop_ok (append (mem s) x y) own' p' ->
  (exists rest, chain p' = chain (prod s l0) ++ rest) ->
  (exists rest, items p' = items (prod s l0) ++ rest) ->
  (chain (prod s l0) <> [] -> x <> First l0) ->
  (forall c i w, x = Word c i w -> i < room) ->
  inv (St (append (mem s) x y) (set_prod (prod s) l0 p') (con s)).
Proof.
  intros s own own' stack l0 x y p' O D E SA NX OW K PO R1 R2 F B.
  assert (Q : quiet l0 (mem s) (append (mem s) x y) own own').
  { constructor; [right; eauto|]. intro c; destruct (OW c) as [X|[X1 X2]]; auto. }
  eapply thread_step with (own' := own') (stack' := stack); eauto.
  - eapply quiet_pool; eauto; [apply O| |];
      apply append_other; intros ->; destruct NX as [NX|NX]; apply NX; reflexivity.
  - left; apply append_other; intros ->; destruct NX as [NX|NX]; apply NX; reflexivity.
  - intro N; apply append_other; auto.
  - intros c i w I; destruct (place_eqb_spec x (Word c i w)) as [X|X].
    + specialize (B _ _ _ X); lia.
    + rewrite append_other by assumption; apply (in_beyond _ _ _ O); assumption.
Qed.

Lemma cas_spec : forall o x old new (m : memory) th m' th',
  cas o x old new m th = Some (m', th') ->
  exists y, m' = append m x y /\ val y = new /\ newest m x = old
    /\ (forall z, cur th z <= cur th' z)
    /\ (forall z, carries (newest_msg m x) z <= carries y z)
    /\ (o = Ordered -> forall z, cur th z <= carries y z).
Proof.
  intros o x old new m th m' th' H; unfold cas in H.
  destruct (Nat.eqb_spec (val (newest_msg m x)) old) as [E|]; [|discriminate].
  inversion H; subst; clear H; eexists; split; [reflexivity|]; cbn; repeat split.
  - intro; apply join_l.
  - intro; apply join_l.
  - intros -> z; unfold join; lia.
Qed.

Lemma got_step : forall s own stack stack' l0 x y th c, owned s own stack ->
  dead (prod s l0) = false -> pc (prod s l0) <> PEnd -> holds (pc (prod s l0)) = None ->
  is_full room (prod s l0) -> x = Top \/ x = Used ->
  (x = Top -> tag_of (val y) = length (mem s Top)) ->
  (forall z, cur (pth (prod s l0)) z <= cur th z) ->
  own c = Fresh \/ own c = Stacked -> covers_chunk (mem s) (cur th) c ->
  pool_ok (append (mem s) x y) (set_owner own c (Popped l0)) stack' ->
  inv (St (append (mem s) x y) (set_prod (prod s) l0 (at_pc (prod s l0) th (PGot c))) (con s)).
Proof.
  intros s own stack stack' l0 x y th c O D E H F X T V OC CC P.
  assert (XC : chunk_of x = None /\ lane_of x = None) by (destruct X as [->| ->]; auto).
  eapply thread_step with (own' := set_owner own c (Popped l0)) (stack' := stack');
    eauto; try same_lists; try exact I.
  - constructor; [right; exists x, y; split; [reflexivity|right; right; assumption]|].
    intro c0; unfold set_owner; destruct (Nat.eqb_spec c c0) as [->|N]; [right|left; reflexivity].
    unfold mine; rewrite Nat.eqb_refl; split; auto.
  - apply lane_got; auto.
    + eapply lane_ok_apart; [eauto|apply O| |auto].
      apply apart_append; apply XC.
    + intros z Z; eapply covers_same; [|apply CC; assumption].
      apply append_other; intros ->; destruct XC; congruence.
  - destruct X as [->| ->]; [right; eauto|left; apply append_other; discriminate].
  - intro; apply append_other; intros ->; destruct XC; discriminate.
  - intros c0 i w I; rewrite append_other; [apply (in_beyond _ _ _ O); assumption|].
    intros ->; destruct XC; discriminate.
Qed.

Ltac own_place O l0 c :=
  right; left; exists c; split; [reflexivity|].

Lemma pstep_inv : forall s own stack l0 t m' p', owned s own stack ->
  dead (prod s l0) = false -> Lane.pstep room limit event ours l0 t (mem s) (prod s l0) = Some (m', p') ->
  inv (St m' (set_prod (prod s) l0 p') (con s)).
Proof.
  intros s own stack l0 t m' p' O D H.
  pose proof (in_lane _ _ _ O l0) as K; pose proof (in_pop _ _ _ O l0) as PO.
  pose proof (in_pool _ _ _ O) as PL.
  pose proof (lk_pc _ _ _ _ _ _ _ _ K D) as PC.
  unfold Lane.pstep in H; unfold LaneInv.pc_ok in PC; unfold pop_ok in PO.
  destruct (pc (prod s l0)) eqn:E; cbn [o_pop o_state o_publish o_whole o_pad ours] in H.
  - (* PIdle *)
    injection H as <- <-; eapply silent_step; eauto; try congruence.
    + destruct (has_room _ _); [destruct (fits _ _ _ _)|]; discriminate.
    + rewrite E; destruct (has_room _ _); [destruct (fits _ _ _ _)|]; reflexivity.
    + unfold LaneInv.pc_ok, has_room; cbn [pc at_pc].
      destruct (Nat.ltb_spec (length (log (prod s l0))) (room * length (chain (prod s l0)))) as [L|L].
      * pose proof (Nat.mod_upper_bound (length (log (prod s l0))) room ltac:(lia)).
        unfold fits; destruct (Nat.leb_spec (length (log (prod s l0)) mod room
          + length (now event l0 (prod s l0))) room) as [F|F];
          (split; [unfold words; lia|]; split; [|split; [exact L|split; [|intros; lia]]]).
        -- apply (now_ok _ _ some_room honest).
        -- exact F.
        -- cbn; lia.
        -- change (length (log (prod s l0)) mod room + 1 <= room); lia.
      * pose proof (lk_long _ _ _ _ _ _ _ _ K); unfold is_full.
        change (log (at_pc (prod s l0) (pth (prod s l0)) PPop)) with (log (prod s l0)); cbn; lia.
    + unfold pop_ok; cbn [pc at_pc pth]; destruct (has_room _ _); [destruct (fits _ _ _ _)|]; exact I.
  - (* PPop *)
    destruct (load Ordered Top t (mem s) (pth (prod s l0))) as [[v th]|] eqn:L; [|discriminate].
    injection H as <- <-; pose proof (load_more _ _ _ _ _ _ _ L) as V.
    destruct (load_spec _ _ _ _ _ _ _ L) as (y & N & -> & _ & _ & _ & _ & _ & CA).
    specialize (CA eq_refl).
    eapply silent_step; eauto; try congruence.
    + destruct (_ =? _); discriminate.
    + rewrite E; destruct (_ =? _); reflexivity.
    + unfold LaneInv.pc_ok; cbn [pc at_pc]; destruct (_ =? _); assumption.
    + unfold pop_ok; cbn [pc at_pc pth]; destruct (Nat.eqb_spec (number_of (val y)) 0) as [Z|Z]; [exact I|].
      split; [assumption|]. pose proof (pl_tags _ _ _ PL _ _ N) as T; rewrite T.
      pose proof (nth_lt _ _ _ N) as LT; split; [assumption|]. intros NE c OC.
      pose proof (newest_tag _ _ _ PL) as NT; rewrite NE, T in NT.
      replace t with (length (mem s Top) - 1) in N by lia.
      rewrite nth_newest in N by lia; injection N as <-.
      eapply covers_chunk_mono; [exact CA|]. apply (pl_sees _ _ _ PL); assumption.
  - (* PPopLink *)
    destruct (load Relaxed (Link (number_of top - 1)) t (mem s) (pth (prod s l0)))
      as [[v th]|] eqn:L; [|discriminate].
    injection H as <- <-; pose proof (load_more _ _ _ _ _ _ _ L) as V.
    eapply silent_step; eauto; try congruence.
    + rewrite E; reflexivity.
    + destruct PO as (P1 & P2 & P3); unfold pop_ok; cbn; split.
      * split; [assumption|split; [assumption|]]. intros NE c OC.
        eapply covers_chunk_mono; [exact V|]; auto.
      * intro NE; eapply covers_load; eauto. subst top.
        eapply P3; [reflexivity|eapply top_is_stacked; eauto|reflexivity].
  - (* PPopCas *)
    destruct PO as ((P1 & P2 & P3) & P4).
    destruct (cas _ _ _ _ _ _) as [[m1 th1]|] eqn:C; injection H as <- <-.
    + destruct (cas_spec _ _ _ _ _ _ _ _ C) as (y & -> & VY & NE & MO & CA & _).
      assert (NS : number_of (newest (mem s) Top) = S (number_of top - 1)) by (rewrite NE; lia).
      rewrite <- NE in VY at 1.
      destruct (pool_pop _ _ _ l0 y _ link PL NS) as [OC PL']; auto.
      eapply got_step; eauto; try congruence.
      * rewrite E; reflexivity.
      * intros _; rewrite VY, tag_top; eapply newest_tag; eauto.
      * eapply covers_chunk_mono; [exact MO|]; auto.
    + eapply silent_step; eauto; try congruence; try exact I; rewrite E; reflexivity.
  - (* PExtend *)
    destruct (load Relaxed Used t (mem s) (pth (prod s l0))) as [[v th]|] eqn:L; [|discriminate].
    injection H as <- <-; pose proof (load_more _ _ _ _ _ _ _ L) as V.
    eapply silent_step; eauto; try congruence.
    + destruct (_ <? _); discriminate.
    + rewrite E; destruct (_ <? _); reflexivity.
    + unfold LaneInv.pc_ok; cbn [pc at_pc]; destruct (_ <? _); assumption.
    + unfold pop_ok; cbn [pc at_pc pth]; destruct (_ <? _); exact I.
  - (* PExtendCas *)
    destruct (cas _ _ _ _ _ _) as [[m1 th1]|] eqn:C; injection H as <- <-.
    + destruct (cas_spec _ _ _ _ _ _ _ _ C) as (y & -> & VY & NE & MO & CA & _).
      destruct (pool_extend _ _ _ l0 y _ PL NE VY) as [OC PL'].
      eapply got_step; eauto; try congruence.
      * rewrite E; reflexivity.
      * intros x X; unfold covers; pose proof (pl_clean _ _ _ PL _ _ OC X); lia.
    + eapply silent_step; eauto; try congruence; try exact I; rewrite E; reflexivity.
  - (* PGot *)
    destruct (store _ _ _ _ _) as [m1 th1] eqn:ST; injection H as <- <-.
    assert (OC : own c = Popped l0) by (apply (lk_popped _ _ _ _ _ _ _ _ K); rewrite E; reflexivity).
    assert (K' := lane_clear _ _ some_room honest _ _ _ _ _ _ _ _ _ _ K D E eq_refl ST).
    destruct (store_spec _ _ _ _ _ _ _ ST) as (y & -> & _).
    eapply store_step with (own' := own); eauto; try congruence; try same_lists; try discriminate; try exact I.
    + right; left; exists c; split; [reflexivity|left; assumption].
    + left; discriminate.
    + unfold pop_ok; cbn [pc at_pc pth]; destruct (chain (prod s l0)); exact I.
  - (* PFirst *)
    destruct (store _ _ _ _ _) as [m1 th1] eqn:ST; injection H as <- <-.
    destruct PC as (CH & _).
    assert (K' := lane_first _ _ some_room honest _ _ _ _ _ _ _ _ _ K D E ST).
    destruct (store_spec _ _ _ _ _ _ _ ST) as (y & -> & _).
    eapply store_step with (own' := own); eauto; try congruence; try same_lists; try discriminate; try exact I.
    + left; reflexivity.
    + right; discriminate.
  - (* POpen *)
    destruct (store _ _ _ _ _) as [m1 th1] eqn:ST; injection H as <- <-.
    assert (OC : own c = Popped l0) by (apply (lk_popped _ _ _ _ _ _ _ _ K); rewrite E; reflexivity).
    assert (K' := lane_open _ _ some_room honest _ _ _ _ _ _ _ _ _ K D E ST).
    destruct (store_spec _ _ _ _ _ _ _ ST) as (y & -> & _).
    eapply store_step with (own' := set_owner own c (Linked l0 0)); eauto; try congruence;
      try same_lists; try discriminate; try exact I.
    + left; reflexivity.
    + right; discriminate.
    + intro c0; unfold set_owner; destruct (Nat.eqb_spec c c0) as [<-|N]; [right|left; reflexivity].
      unfold mine; rewrite Nat.eqb_refl; split; [right; eauto|left; assumption].
  - (* PLinkTo *)
    destruct (store _ _ _ _ _) as [m1 th1] eqn:ST; injection H as <- <-.
    destruct PC as (FU & CH & _).
    assert (OC : own c = Popped l0) by (apply (lk_popped _ _ _ _ _ _ _ _ K); rewrite E; reflexivity).
    assert (K' := lane_link _ _ some_room honest _ _ _ _ _ _ _ _ _ K D E ST).
    destruct (store_spec _ _ _ _ _ _ _ ST) as (y & -> & _).
    eapply store_step with (own' := set_owner own c (Linked l0 (length (chain (prod s l0)))));
      eauto; try congruence; try same_lists; try discriminate; try exact I.
    + right; left; exists (last (chain (prod s l0)) 0); split; [reflexivity|].
      right; exists (length (chain (prod s l0)) - 1); apply (lk_linked _ _ _ _ _ _ _ _ K).
      split; [|eapply alive_given; [exact K|exact D|congruence]].
      destruct (@exists_last _ _ CH) as (ch & b & EC); rewrite EC, last_last, app_length; cbn.
      rewrite nth_error_app2 by lia; replace (length ch + 1 - 1 - length ch) with 0 by lia.
      reflexivity.
    + left; discriminate.
    + intro c0; unfold set_owner; destruct (Nat.eqb_spec c c0) as [<-|N]; [right|left; reflexivity].
      unfold mine; rewrite Nat.eqb_refl; split; [right; eauto|left; assumption].
  - (* PPut *)
    rewrite andb_true_r in H.
    destruct (store _ _ _ _ _) as [m1 th1] eqn:ST; injection H as <- <-.
    assert (K' := lane_put _ _ some_room honest _ _ _ _ _ _ _ _ _ _ _ _ K D E ST eq_refl).
    destruct PC as (W & IL & RO & F & _).
    destruct (at_record_own _ _ some_room _ _ _ _ _ _ i K D ltac:(congruence) RO ltac:(lia))
      as (c & NC & CN & G & OC).
    destruct (store_spec _ _ _ _ _ _ _ ST) as (y & -> & _).
    eapply store_step with (own' := own); eauto; try congruence; try same_lists; try discriminate; try exact I.
    + right; left; exists c; split; [unfold at_record; rewrite CN; reflexivity|].
      right; eexists; exact OC.
    + left; discriminate.
    + unfold pop_ok; cbn [pc at_pc]; destruct (S w <? words); [|destruct (_ <? _)]; exact I.
    + intros c0 i0 w0 X; unfold at_record in X; injection X as _ <- _; lia.
  - (* PPublish *)
    destruct (store _ _ _ _ _) as [m1 th1] eqn:ST; injection H as <- <-.
    assert (K' := lane_publish _ _ some_room honest _ _ _ _ _ _ _ _ _ K D E ST).
    destruct (store_spec _ _ _ _ _ _ _ ST) as (y & -> & _).
    eapply store_step with (own' := own); eauto; try congruence; try same_lists; try discriminate; try exact I.
    + left; reflexivity.
    + right; discriminate.
  - (* PFull *)
    destruct (chain (prod s l0)) eqn:CH.
    + unfold fetch_add in H; injection H as <- <-.
      eapply thread_step with (own' := own) (stack' := stack); eauto; try congruence;
        try same_lists; try exact I.
      * apply quiet_store; right; right; split; reflexivity.
      * eapply quiet_pool; eauto; [apply quiet_store; right; right; split; reflexivity|..];
          apply append_other; discriminate.
      * apply lane_homeless; auto.
        -- eapply lane_ok_apart; [eauto|apply K| |auto]. apply apart_append; reflexivity.
        -- intro; apply join_l.
      * intros c i w I; rewrite append_other by discriminate; apply (in_beyond _ _ _ O); assumption.
    + destruct (store _ _ _ _ _) as [m1 th1] eqn:ST; injection H as <- <-.
      assert (K' := lane_drop _ _ some_room honest _ _ _ _ _ _ _ _ K D E ST).
      destruct (store_spec _ _ _ _ _ _ _ ST) as (y & -> & _).
      eapply store_step with (own' := own); eauto; try congruence; try same_lists; try discriminate; try exact I.
      * left; reflexivity.
      * right; discriminate.
  - discriminate.
  Unshelve. all: try exact stack; try exact 0.
Qed.

End Steps.
