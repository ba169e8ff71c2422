(* SPDX-License-Identifier: MIT *)
(*
   LaneInv.v - the invariant of lanes, chunks and their pool.

   A chunk has one owner at any time: the stack of the pool, a thread that has just taken
   it, a lane, or the collector that gives it back.  The owner's view covers the chunk: it has
   seen every store to it.  That is all that is needed: a view that covers a location
   can only read the newest message there, and a store goes after all others.
   Counters (head, state, dropped, used) hold their own timestamps, as seq does in a slot.
*)
Require Import Arith List Lia Bool Cantor.
Require Import Memory Lane.
Import ListNotations.

(* ---- places ------------------------------------------------------------------ *)

Definition chunk_of (x : place) : option nat :=
  match x with Link c => Some c | Word c _ _ => Some c | _ => None end.

Definition lane_of (x : place) : option nat :=
  match x with State l | First l | Head l | Dropped l => Some l | _ => None end.

(* ---- owners -------------------------------------------------------------------- *)

Inductive owner :=
| Fresh                        (* never taken *)
| Stacked                      (* given back *)
| Popped (l : nat)             (* taken by thread l, not yet in its lane *)
| Linked (l j : nat)           (* chunk j of lane l *)
| Giving.                      (* the collector gives it back *)

Definition set_owner (own : nat -> owner) (c : nat) (o : owner) : nat -> owner :=
  fun c' => if c =? c' then o else own c'.

Lemma set_owner_here : forall own c o, set_owner own c o c = o.
Proof. intros; unfold set_owner; rewrite Nat.eqb_refl; reflexivity. Qed.

Lemma set_owner_other : forall own c c' o, c <> c' -> set_owner own c o c' = own c'.
Proof. intros; unfold set_owner; destruct (Nat.eqb_spec c c'); congruence. Qed.

Section Invariant.

Variable room limit : nat.
Variable event : nat -> nat -> item.
Hypothesis some_room : 0 < room.

Definition gap_of (it : item) : option nat :=
  match it with (2 :: nr :: _) :: _ => Some nr | _ => None end.

Definition padding (it : item) : bool := is_pad (hd [] it).

(* An event is one or more whole records that fit into a chunk; its first one says how many. *)
Definition event_ok (it : item) : Prop :=
  0 < length it <= room /\ (forall r, In r it -> length r = words)
  /\ padding it = false /\ gap_of it = None /\ S (followers (hd [] it)) = length it.

Hypothesis honest : forall l k, event_ok (event l k).

(* What is published at record n of a lane is in one chunk; padding ends with it. *)
Definition item_ok (n : nat) (it : item) : Prop :=
  0 < length it /\ n mod room + length it <= room /\ (forall r, In r it -> length r = words)
  /\ if padding it then n mod room + length it = room else S (followers (hd [] it)) = length it.

Definition holds (c : ppc) : option nat :=
  match c with PGot c | PFirst c | POpen c | PLinkTo c => Some c | _ => None end.

Definition link_to (c : option nat) : nat := match c with Some c => S c | None => 0 end.

(* ---- the accounts of a lane -------------------------------------------------------- *)

(* @r accounts for the events from @k up to @n: each is there, or is counted in a gap. *)
Inductive tells (l k : nat) : list item -> nat -> Prop :=
| tells_none : tells l k [] k
| tells_event : forall r n, tells l k r n -> tells l k (r ++ [event l n]) (S n)
| tells_gap : forall r n nr, tells l k r n -> tells l k (r ++ [[gap_record nr]]) (n + nr)
| tells_pad : forall r n it, tells l k r n -> padding it = true -> tells l k (r ++ [it]) n.

Fixpoint lost_in (r : list item) : nat :=
  match r with
  | [] => 0
  | x :: r => match gap_of x with Some nr => nr | None => 0 end + lost_in r
  end.

Fixpoint events_in (r : list item) : nat :=
  match r with
  | [] => 0
  | x :: r =>
      match gap_of x with Some _ => 0 | None => if padding x then 0 else 1 end + events_in r
  end.

(* What the collector keeps. *)
Definition kept (r : list item) : list item := filter (fun it => negb (padding it)) r.

Lemma lost_in_app : forall a b, lost_in (a ++ b) = lost_in a + lost_in b.
Proof. clear some_room. induction a; simpl; intros; rewrite ?IHa; lia. Qed.

Lemma events_in_app : forall a b, events_in (a ++ b) = events_in a + events_in b.
Proof. clear some_room. induction a; simpl; intros; rewrite ?IHa; lia. Qed.

Lemma gap_of_pad : forall it, padding it = true -> gap_of it = None.
Proof.
  clear some_room. intros [|[|[|[|[|n]]] r] it] H; try discriminate; try reflexivity.
Qed.

Lemma kept_app : forall a b, kept (a ++ b) = kept a ++ kept b.
Proof. intros; unfold kept; apply filter_app. Qed.

Lemma kept_sums : forall r, events_in (kept r) = events_in r /\ lost_in (kept r) = lost_in r.
Proof.
  clear some_room honest. induction r as [|x r [IH1 IH2]]; cbn; [auto|].
  destruct (padding x) eqn:P; cbn; [rewrite (gap_of_pad _ P)|rewrite P]; auto.
Qed.

Lemma tells_sum : forall l k r n, tells l k r n -> n = k + events_in r + lost_in r.
Proof. clear some_room.
  intros l k r n T; induction T as [|r n T IH|r n nr T IH|r n it T IH P]; simpl; [lia| | |];
    rewrite events_in_app, lost_in_app; simpl.
  - destruct (honest l n) as (_ & _ & H1 & H2 & _); rewrite H1, H2; lia.
  - lia.
  - rewrite (gap_of_pad _ P), P; lia.
Qed.

Lemma tells_kept : forall l k r n, tells l k r n -> tells l k (kept r) n.
Proof. clear some_room.
  intros l k r n T; induction T as [|r n T IH|r n nr T IH|r n it T IH P]; [constructor| | |];
    rewrite kept_app; cbn.
  - destruct (honest l n) as (_ & _ & H1 & _); rewrite H1; cbn; constructor; assumption.
  - constructor; assumption.
  - rewrite P; cbn; rewrite app_nil_r; assumption.
Qed.

(* ---- a lane: its thread, and what the collector knows of it ------------------------- *)

Definition ended (p : producer) : Prop := dead p = true \/ pc p = PEnd.

Definition phase (p : producer) : nat :=
  match chain p with [] => 0 | _ => match pc p with PEnd => 2 | _ => 1 end end.

(* The view covers the first t records, and the links that lead to them. *)
Definition cover_upto (m : memory) (ch : list nat) (g : nat) (v : view) (t : nat) : Prop :=
  forall j c, nth_error ch j = Some c -> g <= j ->
    (forall i w, i < room -> room * j + i < t -> covers m v (Word c i w))
    /\ (room * S j < t -> covers m v (Link c)).

(* The view covers all that the thread has stored. *)
Definition settled (m : memory) (l : nat) (ch : list nat) (g : nat) (v : view) : Prop :=
  (forall x, lane_of x = Some l -> covers m v x)
  /\ forall j c x, nth_error ch j = Some c -> g <= j -> chunk_of x = Some c -> covers m v x.

Definition put_ok (m : memory) (l : nat) (p : producer) (pad : bool) (i w : nat) : Prop :=
  length (log p) < room * length (chain p)
  /\ length (log p) mod room + length (writing event pad l p) <= room
  /\ forall i' w', w' < words -> i' < i \/ (i' = i /\ w' < w) ->
       newest m (at_record room p i' w') = nth w' (nth i' (writing event pad l p) []) 0.

Definition is_full (p : producer) : Prop := length (log p) = room * length (chain p).

Definition pc_ok (m : memory) (l : nat) (p : producer) : Prop :=
  match pc p with
  | PIdle => True
  | PEnd => chain p <> []
  | PPop | PPopLink _ | PPopCas _ _ | PExtend | PExtendCas _ | PFull | PGot _ => is_full p
  | PFirst c => chain p = [] /\ newest m (Link c) = 0
  | POpen c => chain p = [] /\ newest m (Link c) = 0 /\ newest m (First l) = S c
  | PLinkTo c => is_full p /\ chain p <> [] /\ newest m (Link c) = 0
  | PPut pad i w =>
      w < words /\ i < length (writing event pad l p) /\ put_ok m l p pad i w
  | PPublish pad => put_ok m l p pad (length (writing event pad l p)) 0
  end.

Record lane_ok (m : memory) (own : nat -> owner) (l : nat) (p : producer) (u : cursor)
  (v : view) : Prop := {
  lk_popped : forall c, own c = Popped l <-> holds (pc p) = Some c;
  lk_linked : forall j c,
    own c = Linked l j <-> nth_error (chain p) j = Some c /\ given u <= j;
  lk_sees : forall c x, chunk_of x = Some c ->
    own c = Popped l \/ (exists j, own c = Linked l j) -> covers m (cur (pth p)) x;
  lk_mine : forall x, lane_of x = Some l -> covers m (cur (pth p)) x;
  lk_links : forall j c, nth_error (chain p) j = Some c -> given u <= j ->
    newest m (Link c) = link_to (nth_error (chain p) (S j));
  lk_long : length (log p) <= room * length (chain p);
  lk_used : room * (length (chain p) - 1) <= length (log p);
  lk_words : forall n r c w, nth_error (log p) n = Some r ->
    nth_error (chain p) (n / room) = Some c -> given u <= n / room -> w < words ->
    newest m (Word c (n mod room) w) = nth w r 0;
  lk_items : forall done it rest, items p = done ++ it :: rest -> item_ok (length (concat done)) it;
  lk_head : length (m (Head l)) = S (length (items p))
    /\ forall t x, nth_error (m (Head l)) t = Some x -> val x = length (concat (firstn t (items p)));
  lk_heads : forall t x, nth_error (m (Head l)) t = Some x ->
    cover_upto m (chain p) (given u) (carries x) (val x);
  lk_state : counts m (State l) /\ length (m (State l)) = S (phase p);
  lk_opened : forall t x, nth_error (m (State l)) (S t) = Some x ->
    covers m (carries x) (First l);
  lk_closed : forall x, nth_error (m (State l)) 2 = Some x -> settled m l (chain p) (given u) (carries x);
  lk_first : forall c, nth_error (chain p) 0 = Some c -> newest m (First l) = S c;
  lk_dropped : counts m (Dropped l) /\ length (m (Dropped l)) = S (dropped p);
  lk_tells : exists n, tells l (homeless p) (items p) n /\ events p = n + gap p
    /\ dropped p = lost_in (items p) + gap p;
  lk_pc : dead p = false -> pc_ok m l p;
  lk_adopted : exists rest, chain p = adopted u ++ rest;
  lk_accepted : exists done rest, items p = done ++ rest /\ taken u = length (concat done)
    /\ accepted u = kept done;
  lk_bounds : taken u <= head u <= length (log p);
  lk_at : room * (length (adopted u) - 1) <= taken u <= room * length (adopted u);
  lk_turned : 1 < length (adopted u) ->
    room * (length (adopted u) - 1) < head u \/ orphan u = true;
  lk_given : given u < length (adopted u) \/ (given u = 0 /\ adopted u = [])
    \/ (given u = length (adopted u) /\ orphan u = true /\ taken u = head u);
  lk_head_seen : exists h, h <= v (Head l) /\ h <= length (items p)
    /\ head u = length (concat (firstn h (items p)));
  lk_seen : cover_upto m (chain p) (given u) v (head u);
  lk_orphan : orphan u = true ->
    ended p /\ settled m l (chain p) (given u) v /\ head u = length (log p) /\ lost u = dropped p;
  lk_heard : heard u = true -> dead p = true /\ settled m l (chain p) (given u) v
}.

Lemma alive_given : forall m own l p u v, lane_ok m own l p u v ->
  dead p = false -> pc p <> PEnd -> given u <= length (chain p) - 1.
Proof. clear some_room.
  intros m own l p u v K D E.
  destruct (lk_adopted _ _ _ _ _ _ K) as (rest & EQ); rewrite EQ, app_length.
  destruct (lk_given _ _ _ _ _ _ K) as [G|[[G1 G2]|(G1 & G2 & G3)]]; try lia.
  destruct (lk_orphan _ _ _ _ _ _ K G2) as ([X|X] & _); congruence.
Qed.

(* What a step that does not concern lane l leaves as it is. *)
Definition apart (m m' : memory) (own own' : nat -> owner) (l : nat) : Prop :=
  (forall x, lane_of x = Some l -> m' x = m x)
  /\ (forall x c, chunk_of x = Some c ->
        own c = Popped l \/ (exists j, own c = Linked l j) -> m' x = m x)
  /\ (forall c, own' c = Popped l <-> own c = Popped l)
  /\ (forall c j, own' c = Linked l j <-> own c = Linked l j).

Lemma lane_ok_apart : forall m m' own own' l p u v v',
  lane_ok m own l p u v -> apart m m' own own' l -> (forall x, v x <= v' x) ->
  lane_ok m' own' l p u v'.
Proof.
  intros m m' own own' l p u v v' K (AL & AC & AP & AK) V.
  pose proof (lk_linked _ _ _ _ _ _ K) as LL.
  assert (ML : forall j c x, nth_error (chain p) j = Some c -> given u <= j ->
                 chunk_of x = Some c -> m' x = m x).
  { intros j c x N G C; apply (AC x c C); right; exists j; apply LL; auto. }
  assert (MP : forall c x, holds (pc p) = Some c -> chunk_of x = Some c -> m' x = m x).
  { intros c x N C; apply (AC x c C); left; apply (lk_popped _ _ _ _ _ _ K); assumption. }
  assert (CU : forall w w' t, (forall x, w x <= w' x) ->
             cover_upto m (chain p) (given u) w t -> cover_upto m' (chain p) (given u) w' t).
  { intros w w' t W C j c N G; destruct (C j c N G) as [C1 C2]; split.
    - intros i x I T; eapply covers_same; [eapply ML; eauto; reflexivity|].
      eapply covers_mono; [apply W|]; auto.
    - intro T; eapply covers_same; [eapply ML; eauto; reflexivity|].
      eapply covers_mono; [apply W|]; auto. }
  assert (SE : forall w w', (forall x, w x <= w' x) ->
             settled m l (chain p) (given u) w -> settled m' l (chain p) (given u) w').
  { intros w w' W [S1 S2]; split; intros.
    - eapply covers_same; [eapply AL; eauto|]; eapply covers_mono; [apply W|]; auto.
    - eapply covers_same; [eapply ML; eauto|]; eapply covers_mono; [apply W|]; eauto. }
  assert (PO : forall pad i w, dead p = false -> pc p <> PEnd ->
             put_ok m l p pad i w -> put_ok m' l p pad i w).
  { intros pad i w D E (P0 & P1 & P2); split; [assumption|]; split; [assumption|].
    intros i' w' W I; rewrite <- (P2 i' w' W I); apply newest_same; unfold at_record.
    destruct (nth_error (chain p) (length (log p) / room)) as [c|] eqn:N.
    - rewrite (nth_error_nth _ _ 0 N). apply (ML _ c _ N); [|reflexivity].
      etransitivity; [eapply alive_given; eauto|]. apply Nat.div_le_lower_bound; [lia|].
      apply (lk_used _ _ _ _ _ _ K).
    - apply nth_error_None in N; exfalso.
      assert (length (log p) / room < length (chain p)) by
        (apply Nat.div_lt_upper_bound; lia). lia. }
  destruct K; constructor; intros; auto.
  - rewrite AP; auto.
  - rewrite AK; auto.
  - rewrite AP in H0. setoid_rewrite AK in H0.
    eapply covers_same; [eapply AC; eauto|]; eauto.
  - eapply covers_same; [apply AL; assumption|]; auto.
  - erewrite newest_same; [eauto|]; eapply ML; eauto; reflexivity.
  - erewrite newest_same; [eauto|]; eapply ML; eauto; reflexivity.
  - eapply lk_items0; eassumption.
  - rewrite AL by reflexivity; assumption.
  - rewrite AL in H by reflexivity. eapply CU; eauto.
  - rewrite AL by reflexivity; split; [|apply lk_state0].
    eapply counts_same; [apply AL; reflexivity|apply lk_state0].
  - rewrite AL in H by reflexivity. eapply covers_same; [apply AL; reflexivity|eauto].
  - rewrite AL in H by reflexivity. eapply SE; eauto.
  - erewrite newest_same; [eauto|]; apply AL; reflexivity.
  - rewrite AL by reflexivity; split; [|apply lk_dropped0].
    eapply counts_same; [apply AL; reflexivity|apply lk_dropped0].
  - specialize (lk_pc0 H). unfold pc_ok in *; destruct (pc p) eqn:PC; auto;
      repeat match goal with
      | |- context [newest m' (Link ?c)] =>
          rewrite (newest_same m m' (Link c)) by (apply (MP c); reflexivity)
      | |- context [newest m' (First l)] =>
          rewrite (newest_same m m' (First l)) by (apply AL; reflexivity)
      end; auto.
    + destruct lk_pc0 as (? & ? & ?); split; auto; split; auto; apply PO; auto; discriminate.
    + apply PO; auto; discriminate.
  - destruct lk_head_seen0 as (h & A & B); exists h; split; [specialize (V (Head l)); lia|assumption].
  - eapply CU; eauto.
  - destruct (lk_orphan0 H) as (A & B & C); repeat split; try apply C; auto;
      eapply SE; eauto.
  - destruct (lk_heard0 H) as (A & B); split; auto; eapply SE; eauto.
Qed.

End Invariant.
