(* SPDX-License-Identifier: MIT *)
(*
   Junk.v - the events of a station that is handed from thread to thread are not taken for garbage.

   skip_missing() takes a seq for a stray store (note_junk()) when the seq is older than all that
   the reader knows of, or when the event before the last is not there, too.  With
   ctp_fence_handover() neither happens: a reader that finds the mark of an event has the marks of
   the events up to the one before the last, whichever threads wrote them.

   For runs in which the collector believes the seqs of an honest writer (seq_fits(): at most
   one event per nanosecond).
*)
Require Import Arith List Lia Bool.
Require Import Memory Slot Writer Reader Torn Theorems.
Import ListNotations.

Definition believed (c : choice) : Prop :=
  match c with CRead _ _ fits _ => fits = true | _ => True end.

Section Junk.

Variable ev : nat -> field -> nat.
Hypothesis honest : believable_events ev.

(* The view has the marks of the events before k. *)
Definition has_marks (v : view) (k : nat) : Prop :=
  forall j, j < k -> seq_of j <= v (slot_of j, Seq).

Definition calm (r : reader) : Prop :=
  junk r = 0 /\ has_marks (cur (rth r)) (next r)
  /\ match pc r with RCompany e _ => has_marks (acq (rth r)) (e - 1) | _ => True end.

Lemma marks_later : forall v w k, (forall l, v l <= w l) -> has_marks v k -> has_marks w k.
Proof. intros v w k V H j J; etransitivity; [apply H; assumption|apply V]. Qed.

(* A mark beyond the expected one passes on those before it. *)
Lemma beyond_marks : forall m w n t x, memory_ok ev m w ->
  nth_error (m (slot_of n, Seq)) t = Some x -> seq_of n < t ->
  has_marks (carries x) (event_of (slot_of n) t - 1).
Proof.
  intros m w n t x OK X B j J. apply (ok_past _ _ _ OK (slot_of n) t); auto.
  - apply slot_lt.
  - lia.
  - unfold tells; destruct (Nat.even t); lia.
Qed.

(* What the reader finds in the slot of its next event is never older than the event before. *)
Lemma no_old_mark : forall r t, has_marks (cur (rth r)) (next r) ->
  cur (rth r) (slot_of (next r), Seq) <= t -> state_of (next r) t true <> Junk.
Proof.
  intros r t V C; unfold state_of.
  destruct (Nat.eqb_spec t (seq_of (next r))); [discriminate|].
  destruct (Nat.eqb_spec t (if 2 <? seq_of (next r) then seq_of (next r) - 2 else 0)) as [|NI];
    [discriminate|].
  destruct (Nat.eqb_spec t (seq_of (next r) - 1)); [discriminate|].
  destruct (Nat.ltb_spec (seq_of (next r)) t); [discriminate|exfalso].
  destruct (Nat.lt_ge_cases (next r) 8) as [L|L].
  - assert (S2 : seq_of (next r) = 2) by arith. rewrite S2 in *; cbn in NI; lia.
  - specialize (V (next r - 8) ltac:(lia)).
    replace (slot_of (next r - 8)) with (slot_of (next r)) in V by arith.
    replace (seq_of (next r - 8)) with (seq_of (next r) - 2) in V by arith.
    destruct (Nat.ltb_spec 2 (seq_of (next r))); arith.
Qed.

Lemma rstep_calm : forall m w r t last r', memory_ok ev m w -> reader_ok ev w r -> calm r ->
  rstep Ours m r t true last = Some r' -> calm r'.
Proof.
  intros m w r t last r' MOK ROK (J & V & A) H.
  pose proof (ok_at _ _ _ ROK) as AT; unfold pc_ok in AT.
  assert (LD0 : forall o l v th, load o l t m (rth r) = Some (v, th) ->
            has_marks (cur th) (next r)).
  { intros o l v th LD; apply load_spec in LD; destruct LD as (x & _ & _ & _ & MC & _).
    eapply marks_later; eauto. }
  unfold rstep in H.
  destruct (pc r) as [|todo| | | |e second|j|later] eqn:PC.
  - destruct (load _ _ _ _ _) as [[v th]|] eqn:LD; [|discriminate].
    inversion H; subst r'; clear H. split; [exact J|]; split; [eapply LD0; eauto|].
    cbn [pc at_pc]; destruct (v =? _); exact I.
  - destruct todo as [|f todo]; [discriminate|].
    destruct (load _ _ _ _ _) as [[v th]|] eqn:LD; [|discriminate].
    inversion H; subst r'; clear H. split; [exact J|]; split; [eapply LD0; eauto|].
    cbn [pc set_copied]; destruct todo; exact I.
  - inversion H; subst r'; clear H. split; [exact J|]; split; [|exact I].
    cbn [rth at_pc next cur fence_acquire]. eapply marks_later; [|exact V]. intro; apply join_l.
  - destruct (load _ _ _ _ _) as [[v th]|] eqn:LD; [|discriminate].
    pose proof (LD0 _ _ _ _ LD) as V1. inversion H; subst r'; clear H.
    apply load_spec in LD; destruct LD as (x & X & -> & C & _ & _ & TC & _).
    rewrite (ok_seq _ _ _ MOK _ _ _ (slot_lt _) X).
    destruct (Nat.eqb_spec t (seq_of (next r))) as [E|E].
    + subst t. assert (V2 : has_marks (cur th) (S (next r))).
      { intros q Q; destruct (Nat.eq_dec q (next r)) as [->|]; [exact TC|apply V1; lia]. }
      unfold take; destruct (plausible _); cbn [count_lost]; split; try exact J; split; cbn; auto.
      rewrite Nat.add_1_r; exact V2.
    + split; [exact J|]; split; [exact V1|exact I].
  - destruct (load _ _ _ _ _) as [[v th]|] eqn:LD; [|discriminate].
    pose proof (LD0 _ _ _ _ LD) as V1. inversion H; subst r'; clear H.
    apply load_spec in LD; destruct LD as (x & X & -> & C & _ & _ & _ & CA & _).
    rewrite (ok_seq _ _ _ MOK _ _ _ (slot_lt _) X).
    destruct (state_of (next r) t true) eqn:ST; split; try exact J; split; try exact V1;
      cbn [pc at_pc]; try destruct last; try exact I;
      (eapply marks_later; [exact CA|]; eapply beyond_marks; eauto; eapply state_beyond; eauto).
  - destruct (load _ _ _ _ _) as [[v th]|] eqn:LD; [|discriminate].
    destruct AT as (N8 & _ & _). apply load_spec in LD.
    destruct LD as (x & X & -> & C & MC & _). cbn [cur fence_acquire] in C, MC.
    assert (M1 : has_marks (cur th) (e - 1)).
    { eapply marks_later; [|exact A]. intro l; etransitivity; [|apply MC]. apply join_r. }
    assert (V1 : has_marks (cur th) (next r)).
    { eapply marks_later; [|exact V]. intro l; etransitivity; [|apply MC]. apply join_l. }
    assert (CO : (seq_of (e - 2) <=? val x) = true).
    { rewrite (ok_seq _ _ _ MOK _ _ _ (slot_lt _) X). apply Nat.leb_le.
      specialize (A (e - 2) ltac:(lia)). unfold join in C; lia. }
    rewrite CO in H; cbn [andb] in H.
    destruct second as [later|]; inversion H; subst r'; clear H; split; try exact J; split;
      try exact I; [exact V1|].
    cbn [rth next count_lost]; intros q Q; apply M1; lia.
  - destruct (load _ _ _ _ _) as [[v th]|] eqn:LD; [|discriminate].
    inversion H; subst r'; clear H. split; [exact J|]; split; [eapply LD0; eauto|].
    cbn [pc at_pc]; destruct (_ && _); [exact I|]. destruct (S j <? 7); exact I.
  - destruct (load _ _ _ _ _) as [[v th]|] eqn:LD; [|discriminate].
    pose proof (LD0 _ _ _ _ LD) as V1. inversion H; subst r'; clear H.
    apply load_spec in LD; destruct LD as (x & X & -> & C & _ & _ & _ & CA & _).
    rewrite (ok_seq _ _ _ MOK _ _ _ (slot_lt _) X).
    pose proof (no_old_mark r t V C) as NJ.
    assert (LT : later = true -> seq_of (next r) <= t) by (intros ->; lia).
    destruct (state_of (next r) t true) eqn:ST; try contradiction.
    + split; [exact J|]; split; [exact V1|exact I].
    + destruct later; [exfalso|split; [exact J|split; [exact V1|exact I]]].
      specialize (LT eq_refl). unfold state_of in ST.
      destruct (Nat.eqb_spec t (seq_of (next r))); [discriminate|].
      destruct (Nat.eqb_spec t (if 2 <? seq_of (next r) then seq_of (next r) - 2 else 0)) as [E|_];
        [destruct (2 <? seq_of (next r)); arith|].
      destruct (Nat.eqb_spec t (seq_of (next r) - 1)); [discriminate|].
      destruct (Nat.ltb_spec (seq_of (next r)) t); discriminate.
    + destruct later; [exfalso|split; [exact J|split; [exact V1|exact I]]].
      specialize (LT eq_refl). unfold state_of in ST.
      destruct (Nat.eqb_spec t (seq_of (next r))); [discriminate|].
      destruct (t =? _); [discriminate|].
      destruct (Nat.eqb_spec t (seq_of (next r) - 1)); [arith|].
      destruct (Nat.ltb_spec (seq_of (next r)) t); discriminate.
    + split; [exact J|]; split; [exact V1|]. cbn [pc at_pc].
      eapply marks_later; [exact CA|]; eapply beyond_marks; eauto; eapply state_beyond; eauto.
Qed.

(* No mark of an honest writer is taken for garbage, whichever threads have written the station. *)
Theorem no_junk : forall cs s i, run ev Ours Ours state0 cs = Some s -> Forall believed cs ->
  junk (rd s i) = 0.
Proof.
  intros cs s i H F.
  assert (C0 : forall j, calm (rd state0 j)).
  { intro j; split; [reflexivity|]; split; [|exact I]. intros k K; cbn in K; lia. }
  assert (S0 : state_ok ev state0) by (apply reachable_ok; [assumption|exists []; reflexivity]).
  enough (C : forall j, calm (rd s j)) by apply C.
  revert H F C0 S0; generalize state0 as s0.
  induction cs as [|c cs IH]; intros s0 H F C0 S0; cbn [run] in H; [inversion H; subst; assumption|].
  destruct (step ev Ours Ours s0 c) as [s1|] eqn:E; [|discriminate].
  inversion F as [|? ? Fc Fcs]; subst. apply (IH s1); auto; [|eapply step_ok; eauto].
  destruct c as [| |j t fits last]; cbn in E.
  - destruct (wstep ev Ours (mem s0) (wr s0)) as [[m w]|]; [|discriminate].
    inversion E; exact C0.
  - destruct (wmove Ours (wr s0)) as [w|]; [|discriminate]. inversion E; exact C0.
  - cbn in Fc; subst fits. destruct (rstep Ours (mem s0) (rd s0 j) t true last) as [r|] eqn:R; [|discriminate].
    inversion E; subst; clear E. intro j'; cbn [rd set_reader]. destruct (j =? j'); [|apply C0].
    eapply rstep_calm; [apply S0|apply S0|apply C0|exact R].
Qed.

End Junk.

(* ---- the hand-over's fence --------------------------------------------------------------------- *)

Definition outcomes (d : discipline) (cs : list choice) : option (nat * nat) :=
  match run example d Ours state0 cs with
  | Some s => Some (length (taken (rd s 0)), junk (rd s 0))
  | None => None
  end.

Lemma outcomes_of : forall d cs a b, outcomes d cs = Some (a, b) -> exists s,
  run example d Ours state0 cs = Some s /\ length (taken (rd s 0)) = a /\ junk (rd s 0) = b.
Proof.
  intros d cs a b H; unfold outcomes in H. destruct (run example d Ours state0 cs) as [s|]; [|discriminate].
  exists s; split; [reflexivity|]. injection H; auto.
Qed.

Lemma believed_writes : forall n cs, Forall believed cs -> Forall believed (writes n ++ cs).
Proof. intros n cs F; induction n; cbn; [assumption|]. constructor; [exact I|assumption]. Qed.

Lemma believed_reads : forall ts, Forall believed (map read ts).
Proof. induction ts; cbn; constructor; [reflexivity|assumption]. Qed.

(* A thread writes an event, another the next; both are read. *)
Definition handed_over : list choice :=
  writes 7 ++ CMove :: writes 7 ++ map read [2; 1; 1; 1; 1; 0; 2; 2; 1; 1; 1; 1; 0; 2].

Lemma handed_over_outcome : outcomes Ours handed_over = Some (2, 0).
Proof. vm_compute; reflexivity. Qed.

Theorem a_station_is_handed_over : exists cs s, Forall believed cs
  /\ run example Ours Ours state0 cs = Some s
  /\ length (taken (rd s 0)) = 2 /\ junk (rd s 0) = 0.
Proof.
  destruct (outcomes_of _ _ _ _ handed_over_outcome) as (s & R & T & J).
  exists handed_over, s; split; [|auto]. unfold handed_over.
  apply believed_writes; constructor; [exact I|]. apply believed_writes, believed_reads.
Qed.

(* Eight events of one thread; another marks the slot of event 0 for event 8.  The reader finds
   this mark, and nothing of the other seven events. *)
Definition stray : list choice :=
  writes (8 * 7) ++ CMove :: CWrite :: map read [3; 3; 0; 0; 0; 0; 0; 0; 0; 0; 3; 0].

Lemma stray_outcome : outcomes Unfenced stray = Some (0, 1).
Proof. vm_compute; reflexivity. Qed.

Theorem necessity_of_the_handovers_fence : exists cs s, Forall believed cs
  /\ run example Unfenced Ours state0 cs = Some s /\ junk (rd s 0) = 1.
Proof.
  destruct (outcomes_of _ _ _ _ stray_outcome) as (s & R & _ & J).
  exists stray, s; split; [|auto]. unfold stray. apply believed_writes.
  constructor; [exact I|]; constructor; [exact I|apply believed_reads].
Qed.

(* For proof/check-coq: together they must be "Closed under the global context". *)
Definition all_theorems := (
  @safety,
  @no_repetition,
  @seqs_increase,
  @exact_loss,
  @written_is_accepted_plus_lost,
  @nobody_waits,
  @progress,
  @drained,
  @necessity,
  @necessity_of_the_writers_fence,
  @necessity_of_the_readers_fence,
  @no_junk,
  @a_station_is_handed_over,
  @necessity_of_the_handovers_fence).
Print Assumptions all_theorems.
