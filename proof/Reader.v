(* SPDX-License-Identifier: MIT *)
(*
   Reader.v - the reader's invariant: its copy and its counts, for all results of its loads.

   The central part is copy_ok: each field of the copy is the event's, or the reader will
   know, once it has passed its fence, that the slot was marked again.
*)
Require Import Arith List Lia Bool Permutation Sorted.
Require Import Memory Slot Writer.
Import ListNotations.

(* ---- what has been begun ------------------------------------------------- *)

(* The number of events that were begun; all but perhaps the last are complete. *)
Definition begun (w : writer) : nat := wk w + (if 0 <? wpc w then 1 else 0).

(* Event k's slot has been marked for the next turn. *)
Definition overwritten (w : writer) (k : nat) : Prop := k + 8 < begun w.

Section Invariant.

Variable ev : nat -> field -> nat.

Let ok := memory_ok ev.

Lemma seen_begun : forall m w i t, ok m w -> i < 8 -> 0 < t ->
  t < length (m (i, Seq)) -> event_of i t < begun w.
Proof.
  intros m w i t OK Hi Ht H. rewrite (ok_length _ _ _ OK) in H by assumption.
  unfold stores, begun in *. change (pos Seq) with 0 in H.
  destruct (Nat.eqb_spec i (slot_of (wk w))) as [E|E].
  - subst i; rewrite turns_here in H.
    destruct (0 <? wpc w); cbn [andb] in H; arith.
  - cbn [andb] in H; unfold turns in H.
    assert (event_of i t < wk w) by arith. lia.
Qed.

Lemma seen_complete : forall m w k t, ok m w ->
  seq_of k <= t -> t < length (m (slot_of k, Seq)) -> k < wk w.
Proof.
  intros m w k t OK Ht H. rewrite (ok_length _ _ _ OK _ Seq (slot_lt k)) in H.
  unfold stores in H.
  destruct ((slot_of k =? slot_of (wk w)) && (pos Seq <? wpc w)); unfold turns in H; arith.
Qed.

(* ---- the invariant ------------------------------------------------------- *)

Definition fields_ok (d : field -> nat) (k : nat) : Prop :=
  forall f, f <> Seq -> d f = ev k f.

Definition accepted_ok (r : reader) (a : accepted) : Prop :=
  a_event a < next r
  /\ a_slot a = slot_of (a_event a)
  /\ a_seq a = seq_of (a_event a)
  /\ fields_ok (a_data a) (a_event a).

Definition later_than (a b : accepted) : Prop := a_event b < a_event a.

(* Field f of the copy is the event's, or v knows of the next odd mark. *)
Definition copy_ok (r : reader) (v : view) (f : field) : Prop :=
  copied r f = ev (next r) f \/ seq_of (next r) + 1 <= v (slot_of (next r), Seq).

Definition pc_ok (w : writer) (r : reader) : Prop :=
  match pc r with
  | RFirst | RSkip | RAgain false => True
  | RCopy todo =>
      next r < wk w
      /\ todo <> []
      /\ (exists past, payload_fields = past ++ todo)
      /\ (forall f, f <> Seq -> next r / 8 + 1 <= cur (rth r) (slot_of (next r), f))
      /\ (forall f, f <> Seq -> In f todo \/ copy_ok r (acq (rth r)) f)
  | RFence =>
      next r < wk w /\ forall f, f <> Seq -> copy_ok r (acq (rth r)) f
  | RCheck =>
      next r < wk w /\ forall f, f <> Seq -> copy_ok r (cur (rth r)) f
  | RCompany e second =>
      next r + 8 <= e
      /\ e < begun w
      /\ seq_of (e - 2) <= acq (rth r) (slot_of (e - 2), Seq)
  | RLater j => j < 7
  | RAgain true =>
      next r < wk w /\ seq_of (next r) <= cur (rth r) (slot_of (next r), Seq)
  end.

Record reader_ok (w : writer) (r : reader) : Prop := {
  ok_next : next r <= wk w;
  ok_taken : forall a, In a (taken r) -> accepted_ok r a;
  ok_sorted : StronglySorted later_than (taken r);
  ok_gone : forall k, In k (gone r) -> overwritten w k;
  ok_account : Permutation (map a_event (taken r) ++ gone r) (List.seq 0 (next r));
  ok_lost : lost r = length (gone r);
  ok_garbage : garbage r = 0;
  ok_at : pc_ok w r
}.

Lemma reader_ok0 : forall w, reader_ok w reader0.
Proof.
  intro w; constructor; cbn; auto; try lia; try contradiction; constructor.
Qed.

(* A step of the writer keeps the reader's invariant. *)
Lemma reader_ok_later : forall w w' r,
  wk w <= wk w' -> begun w <= begun w' -> reader_ok w r -> reader_ok w' r.
Proof.
  intros w w' r Hk Hb OK; destruct OK as [N T So G A L Ga At]; constructor; auto.
  - lia.
  - intros k Hin; specialize (G k Hin); unfold overwritten in *; lia.
  - unfold pc_ok in *; destruct (pc r); auto; try (destruct later; auto);
      intuition lia.
Qed.

Lemma wstep_mono : forall m w m' w', wstep ev Ours m w = Some (m', w') ->
  memory_ok ev m w -> wk w <= wk w' /\ begun w <= begun w'.
Proof.
  intros m [k p th] m' w' H OK; pose proof (ok_pc _ _ _ OK) as Hp.
  unfold wstep, wnext in H; cbn [wk wpc wth] in *.
  destruct p as [|[|[|[|[|[|[|p]]]]]]]; [..|lia];
    cbn [nth_error write] in H;
    try (destruct (store _ _ _ m th) as [m1 th1]);
    cbn in H; inversion H; subst; unfold begun; cbn; lia.
Qed.

(* The invariant at another program counter, with a larger view. *)
Lemma ok_at_pc : forall w r th p, reader_ok w r ->
  pc_ok w (at_pc r th p) -> reader_ok w (at_pc r th p).
Proof. intros w r th p [N T So G A L Ga At] H; constructor; auto. Qed.

Lemma ok_set_copied : forall w r th f v p, reader_ok w r ->
  pc_ok w (set_copied r th f v p) -> reader_ok w (set_copied r th f v p).
Proof. intros w r th f v p [N T So G A L Ga At] H; constructor; auto. Qed.

Lemma ok_count_lost : forall w r th nr, reader_ok w r ->
  next r + nr <= wk w ->
  (forall k, next r <= k < next r + nr -> overwritten w k) ->
  reader_ok w (count_lost r th nr).
Proof.
  intros w r th nr [N T So G A L Ga At] Hn Ho; unfold count_lost; constructor; cbn; auto.
  - intros a Hin; destruct (T a Hin) as (H & R); split; [cbn; lia|assumption].
  - intros k Hin; apply in_app_or in Hin; destruct Hin as [Hin|Hin]; auto.
    apply Ho; apply in_seq in Hin; lia.
  - rewrite seq_app; cbn.
    transitivity (List.seq (next r) nr ++ (map a_event (taken r) ++ gone r)).
    + rewrite !app_assoc; apply Permutation_app_tail, Permutation_app_comm.
    + transitivity (List.seq (next r) nr ++ List.seq 0 (next r)).
      * apply Permutation_app_head; assumption.
      * apply Permutation_app_comm.
  - rewrite app_length, seq_length; lia.
Qed.

Lemma ok_note_junk : forall w r, reader_ok w r -> reader_ok w (note_junk r).
Proof. intros w r [N T So G A L Ga At]; constructor; auto. Qed.

Lemma wmove_mono : forall d w w', wmove d w = Some w' -> wk w' = wk w /\ begun w' = begun w.
Proof.
  intros d [k p th] w' H; unfold wmove in H; cbn in H; destruct p; [|discriminate].
  injection H as <-; unfold begun; cbn; auto.
Qed.

(* The collector accepts the values of the events that the program writes. *)
Hypothesis honest : forall k, ev k Time <> 0 /\ ev k Act <= 1.

Lemma plausible_copy : forall c k, fields_ok c k -> plausible c = true.
Proof.
  intros c k H; unfold plausible.
  rewrite (H Time), (H Act) by discriminate; destruct (honest k) as [HT HA].
  apply andb_true_iff; split.
  - apply negb_true_iff, Nat.eqb_neq; assumption.
  - apply Nat.leb_le; assumption.
Qed.

Lemma ok_take : forall w r th, reader_ok w r ->
  next r < wk w -> fields_ok (copied r) (next r) -> reader_ok w (take r th).
Proof.
  intros w r th [N T So G A L Ga At] Hn Hf; unfold take.
  rewrite (plausible_copy _ _ Hf); constructor; cbn; auto.
  - intros a [<-|Hin].
    + repeat split; cbn; auto.
    + destruct (T a Hin) as (H & R); split; [cbn; lia|assumption].
  - constructor; [assumption|]. apply Forall_forall; intros a Hin.
    destruct (T a Hin) as (H & _); unfold later_than; cbn; assumption.
  - change (Permutation (next r :: map a_event (taken r) ++ gone r) (List.seq 0 (S (next r)))).
    rewrite seq_S; cbn. rewrite A. apply Permutation_cons_append.
Qed.

Lemma state_beyond : forall n v fits, state_of n v fits = Beyond -> seq_of n < v.
Proof.
  intros n v fits H; unfold state_of in H.
  destruct (v =? seq_of n); [discriminate|].
  destruct (v =? (if 2 <? seq_of n then seq_of n - 2 else 0)); [discriminate|].
  destruct (v =? seq_of n - 1); [discriminate|].
  destruct (Nat.ltb_spec (seq_of n) v); [assumption|discriminate].
Qed.

Lemma state_ready : forall n fits, state_of n (seq_of n) fits = Ready.
Proof. intros; unfold state_of; rewrite Nat.eqb_refl; reflexivity. Qed.

Lemma rstep_ok : forall m w r t fits last r',
  ok m w -> reader_ok w r -> rstep Ours m r t fits last = Some r' -> reader_ok w r'.
Proof.
  intros m w r t fits last r' MOK ROK H.
  pose proof (ok_at _ _ ROK) as AT; pose proof (ok_next _ _ ROK) as NX.
  pose proof (slot_lt (next r)) as SL.
  unfold rstep in H; unfold pc_ok in AT.
  (* a mark beyond the expected one implies that the event before the last is complete *)
  assert (BEYOND : forall t x, nth_error (m (slot_of (next r), Seq)) t = Some x ->
            seq_of (next r) < t ->
            let e := event_of (slot_of (next r)) t in
            next r + 8 <= e /\ e < begun w
            /\ seq_of (e - 2) <= carries x (slot_of (e - 2), Seq)).
  { intros t0 x X B e; assert (X2 := X); apply nth_lt in X2.
    assert (N8 : next r + 8 <= e) by (unfold e; arith).
    split; [assumption|]. split; [eapply seen_begun; eauto; lia|].
    apply (ok_past _ _ _ MOK (slot_of (next r)) t0); [assumption|lia|assumption|].
    unfold tells; fold e; destruct (Nat.even t0); lia. }
  destruct (pc r) as [|todo| | | |e second|j|later] eqn:PC.
  - (* RFirst *)
    destruct (load _ _ _ _ _) as [[v th]|] eqn:LD; [|discriminate].
    inversion H; subst r'; clear H. apply load_spec in LD.
    destruct LD as (x & X & -> & C & MC & MA & TC & CA & CC).
    apply ok_at_pc; [assumption|].
    rewrite (ok_seq _ _ _ MOK _ _ _ SL X).
    unfold pc_ok; cbn [pc at_pc next rth].
    destruct (Nat.eqb_spec t (seq_of (next r))) as [E|E]; [|exact I].
    subst t. assert (X2 := X). apply nth_lt in X2.
    repeat split.
    + apply (seen_complete m w _ (seq_of (next r)) MOK); auto.
    + discriminate.
    + exists []; reflexivity.
    + intros f Hf. etransitivity; [|apply CC; reflexivity].
      eapply (ok_B _ _ _ MOK); eauto.
    + intros f Hf; left; destruct f; cbn; intuition congruence.
  - (* RCopy *)
    destruct todo as [|f todo]; [discriminate|].
    destruct (load _ _ _ _ _) as [[v th]|] eqn:LD; [|discriminate].
    inversion H; subst r'; clear H. apply load_spec in LD.
    destruct LD as (x & X & -> & C & MC & MA & TC & CA & _).
    destruct AT as (Hk & _ & (past & Past) & Hc & Hcopy).
    assert (Hf : f <> Seq).
    { intro; subst f. unfold payload_fields in Past.
      do 5 (destruct past as [|? past]; cbn in Past; try discriminate;
            injection Past as ? Past; subst; try discriminate). }
    pose proof (Hc f Hf) as Hcf.
    destruct t as [|n]; [lia|].
    pose proof (ok_field _ _ _ MOK _ _ _ _ SL Hf X) as V.
    pose proof (ok_A _ _ _ MOK _ _ _ _ SL Hf X) as VA.
    (* the field just read: of this event, or of a later one whose mark it brings along *)
    assert (NEW : copy_ok (set_copied r th f (val x) RFence) (acq th) f).
    { unfold copy_ok, set_copied; cbn [copied next].
      destruct (field_eqb_spec f f) as [_|]; [|congruence].
      destruct (Nat.eq_dec n (next r / 8)) as [->|NE].
      - left; rewrite V; f_equal; arith.
      - right; etransitivity; [|apply CA]. etransitivity; [|apply VA]. arith. }
    assert (ALL : forall g, g <> Seq ->
              In g todo \/ copy_ok (set_copied r th f (val x) RFence) (acq th) g).
    { intros g Hg. destruct (field_eqb_spec f g) as [<-|NE]; [right; exact NEW|].
      destruct (Hcopy g Hg) as [[E|I]|[E|I]]; [congruence|left; assumption|..]; right;
        unfold copy_ok, set_copied; cbn [copied next].
      - left; destruct (field_eqb_spec f g); [congruence|assumption].
      - right; etransitivity; [exact I|apply MA]. }
    apply ok_set_copied; [assumption|].
    unfold pc_ok; cbn [pc set_copied next rth].
    destruct todo as [|g todo].
    + split; [assumption|]. intros g Hg; destruct (ALL g Hg) as [[]|A]; exact A.
    + split; [assumption|]. split; [discriminate|]. split.
      * exists (past ++ [f]); rewrite <- app_assoc; exact Past.
      * split; [|exact ALL].
        intros h Hh; transitivity (cur (rth r) (slot_of (next r), h)); [apply Hc; exact Hh|apply MC].
  - (* RFence *)
    inversion H; subst r'; clear H. apply ok_at_pc; [assumption|].
    unfold pc_ok; cbn [pc at_pc next rth]. destruct AT as (Hk & Hcopy).
    split; [assumption|]. intros f Hf; destruct (Hcopy f Hf) as [E|I]; [left; exact E|].
    right; cbn [cur fence_acquire next at_pc]. etransitivity; [exact I|apply join_r].
  - (* RCheck *)
    destruct (load _ _ _ _ _) as [[v th]|] eqn:LD; [|discriminate].
    inversion H; subst r'; clear H. apply load_spec in LD.
    destruct LD as (x & X & -> & C & _).
    rewrite (ok_seq _ _ _ MOK _ _ _ SL X).
    destruct (Nat.eqb_spec t (seq_of (next r))) as [E|E].
    + (* s2 is still the mark: the reader's view does not contain the next one *)
      subst t; destruct AT as (Hk & Hcopy). apply ok_take; auto.
      intros f Hf; destruct (Hcopy f Hf) as [E|I]; [exact E|lia].
    + apply ok_at_pc; [assumption|exact I].
  - (* RSkip *)
    destruct (load _ _ _ _ _) as [[v th]|] eqn:LD; [|discriminate].
    inversion H; subst r'; clear H. apply load_spec in LD.
    destruct LD as (x & X & -> & C & _ & _ & _ & CA & _).
    rewrite (ok_seq _ _ _ MOK _ _ _ SL X).
    destruct (state_of (next r) t fits) eqn:ST;
      try (apply ok_at_pc; [assumption|]; unfold pc_ok; cbn [pc at_pc];
           try destruct last; cbn; solve [exact I|lia]).
    apply state_beyond in ST. destruct (BEYOND _ _ X ST) as (B1 & B2 & B3).
    apply ok_at_pc; [assumption|]. unfold pc_ok; cbn [pc at_pc next rth].
    repeat split; auto. etransitivity; [exact B3|apply CA].
  - (* RCompany *)
    destruct (load _ _ _ _ _) as [[v th]|] eqn:LD; [|discriminate].
    inversion H; subst r'; clear H. destruct AT as (N8 & B & _).
    assert (WB : begun w <= wk w + 1) by (unfold begun; destruct (0 <? wpc w); lia).
    destruct second as [later|].
    + destruct ((seq_of (e - 2) <=? v) && fits); [apply ok_at_pc; [assumption|exact I]|].
      destruct later; [|apply ok_at_pc; [apply ok_note_junk; assumption|exact I]].
      apply ok_count_lost; [apply ok_note_junk; assumption|cbn; lia|].
      cbn; intros k Hk; unfold overwritten; lia.
    + destruct ((seq_of (e - 2) <=? v) && fits).
      * (* the events in between are overwritten *)
        apply ok_count_lost; [assumption|lia|]. intros k Hk; unfold overwritten; lia.
      * apply ok_at_pc; [assumption|]; unfold pc_ok; cbn [pc at_pc]; lia.
  - (* RLater *)
    destruct (load _ _ _ _ _) as [[v th]|] eqn:LD; [|discriminate].
    inversion H; subst r'; clear H. apply load_spec in LD.
    destruct LD as (x & X & -> & C & MC & MA & TC & CA & CC).
    pose proof (slot_lt (next r + 1 + j)) as SLj.
    rewrite (ok_seq _ _ _ MOK _ _ _ SLj X).
    apply ok_at_pc; [assumption|].
    destruct ((seq_of (next r + 1 + j) <=? t) && fits) eqn:B.
    + apply andb_true_iff in B; destruct B as [B _]; apply Nat.leb_le in B.
      assert (X2 := X); apply nth_lt in X2.
      cbn. split.
      * pose proof (seen_complete _ _ _ _ MOK B X2); lia.
      * etransitivity; [|apply CC; reflexivity].
        apply (ok_past _ _ _ MOK (slot_of (next r + 1 + j)) t);
          [assumption|arith|assumption|].
        unfold tells. destruct (Nat.even t) eqn:EV; [arith|].
        (* odd, so the mark of a later turn *)
        assert (t <> seq_of (next r + 1 + j)).
        { intro Q; rewrite Q in EV; unfold seq_of, slots in EV.
          replace (2 * ((next r + 1 + j) / 8) + 2) with (2 * ((next r + 1 + j) / 8 + 1)) in EV
            by lia.
          rewrite Nat.even_mul in EV; discriminate. }
        arith.
    + destruct (S j <? 7) eqn:Q; [|exact I].
      apply Nat.ltb_lt in Q; unfold pc_ok; cbn [pc at_pc]; lia.
  - (* RAgain *)
    destruct (load _ _ _ _ _) as [[v th]|] eqn:LD; [|discriminate].
    inversion H; subst r'; clear H. apply load_spec in LD.
    destruct LD as (x & X & -> & C & _ & _ & _ & CA & _).
    rewrite (ok_seq _ _ _ MOK _ _ _ SL X).
    assert (K : later = true -> state_of (next r) t fits <> Ready ->
                reader_ok w (count_lost (note_junk r) th 1)).
    { intros -> NR. destruct AT as (Hk & Hs).
      assert (t <> seq_of (next r)) by (intro; subst t; rewrite state_ready in NR; congruence).
      destruct (BEYOND t x X) as (B1 & B2 & _); [lia|].
      apply ok_count_lost; [apply ok_note_junk; assumption|cbn; lia|].
      cbn; intros k Hk'; unfold overwritten; lia. }
    destruct (state_of (next r) t fits) eqn:ST;
      try (apply ok_at_pc; [assumption|exact I]);
      try (destruct later; [apply K; [reflexivity|discriminate]
                           |apply ok_at_pc; [auto using ok_note_junk|exact I]]).
    apply state_beyond in ST. destruct (BEYOND _ _ X ST) as (B1 & B2 & B3).
    apply ok_at_pc; [assumption|]. unfold pc_ok; cbn [pc at_pc next rth].
    repeat split; auto. etransitivity; [exact B3|apply CA].
Qed.

End Invariant.
