(* SPDX-License-Identifier: MIT *)
(*
   Theorems.v - what holds in every run of the writer and the readers.

   s is any reachable state, i any reader.  ev is what the program
   writes, any events that the collector accepts (a time that is not 0, an
   is_active that is 0 or 1).
*)
Require Import Arith List Lia Bool Permutation Sorted.
Require Import Memory Slot Writer Reader Torn.
Import ListNotations.

Definition believable_events (ev : nat -> field -> nat) : Prop :=
  forall k, ev k Time <> 0 /\ ev k Act <= 1.

Section Theorems.

Variable ev : nat -> field -> nat.
Hypothesis honest : believable_events ev.

Notation reachable := (reachable ev).
Notation run := (run ev Ours Ours).
Notation step := (step ev Ours Ours).

(* ---- the invariants hold in every state --------------------------------- *)

Record state_ok (s : state) : Prop := {
  st_mem : memory_ok ev (mem s) (wr s);
  st_rd : forall i, reader_ok ev (wr s) (rd s i)
}.

Lemma step_ok : forall s c s', state_ok s -> step s c = Some s' -> state_ok s'.
Proof.
  intros s c s' [M R] H; destruct c as [| |i t fits last]; cbn in H.
  2:{ destruct (wmove Ours (wr s)) as [w|] eqn:E; [|discriminate].
      inversion H; subst; clear H. destruct (wmove_mono _ _ _ E) as [A B].
      constructor; cbn; [eapply wmove_ok; eauto|].
      intro i; eapply reader_ok_later; [..|apply R]; lia. }
  - destruct (wstep ev Ours (mem s) (wr s)) as [[m w]|] eqn:E; [|discriminate].
    inversion H; subst; clear H. destruct (wstep_mono _ _ _ _ _ E M) as [A B].
    constructor; cbn; [eapply wstep_ok; eauto|].
    intro i; eapply reader_ok_later; eauto.
  - destruct (rstep Ours (mem s) (rd s i) t fits last) as [r|] eqn:E; [|discriminate].
    inversion H; subst; clear H. constructor; cbn; [assumption|].
    intro j; destruct (i =? j); [|apply R]. eapply rstep_ok; eauto.
Qed.

Lemma run_ok : forall cs s s', state_ok s -> run s cs = Some s' -> state_ok s'.
Proof.
  induction cs as [|c cs IH]; cbn; intros s s' OK H; [congruence|].
  destruct (step s c) as [s1|] eqn:E; [|discriminate].
  eapply IH; [eapply step_ok; eauto|assumption].
Qed.

Lemma reachable_ok : forall s, reachable s -> state_ok s.
Proof.
  intros s [cs H]; eapply run_ok; eauto.
  constructor; cbn; [apply memory_ok0|intro; apply reader_ok0].
Qed.

(* ---- safety ---------------------------------------------------------------- *)

(* What a reader accepts is an event that the writer has completed, whole, from that
   event's slot and under that event's sequence number. *)
Theorem safety : forall s i a, reachable s -> In a (taken (rd s i)) ->
  let k := a_event a in
  k < wk (wr s)
  /\ a_slot a = k mod 8
  /\ a_seq a = 2 * (k / 8) + 2
  /\ forall f, f <> Seq -> a_data a f = ev k f.
Proof.
  intros s i a R I. apply reachable_ok in R; pose proof (st_rd _ R i) as OK.
  destruct (ok_taken _ _ _ OK a I) as (A & B & C & D).
  pose proof (ok_next _ _ _ OK). repeat split; auto; lia.
Qed.

(* ---- no repetition, no going back ------------------------------------------ *)

(* taken has the latest first: each accepted event is later than all before it ... *)
Theorem no_repetition : forall s i, reachable s ->
  StronglySorted later_than (taken (rd s i)).
Proof. intros s i R; apply reachable_ok in R; apply (ok_sorted _ _ _ (st_rd _ R i)). Qed.

(* ... so that, slot by slot, the accepted sequence numbers strictly increase. *)
Theorem seqs_increase : forall s i, reachable s ->
  StronglySorted (fun a b => a_slot a = a_slot b -> a_seq b < a_seq a) (taken (rd s i)).
Proof.
  intros s i R. pose proof (no_repetition s i R) as So.
  assert (S : forall a, In a (taken (rd s i)) ->
            a_slot a = slot_of (a_event a) /\ a_seq a = seq_of (a_event a)).
  { intros a I; destruct (safety s i a R I) as (_ & B & C & _); split; assumption. }
  revert So S; generalize (taken (rd s i)) as l.
  induction 1 as [|a l So IH Fa]; intro S; constructor.
  - apply IH; intros b I; apply S; right; assumption.
  - rewrite Forall_forall in *; intros b I E. specialize (Fa b I).
    destruct (S a) as [A1 A2]; [left; reflexivity|].
    destruct (S b) as [B1 B2]; [right; assumption|].
    unfold later_than in Fa. rewrite A1, B1 in E; rewrite A2, B2. arith.
Qed.

(* ---- exact loss --------------------------------------------------------------- *)

(* Every event before the cursor is accounted for once: it was accepted, or it is one
   of the lost, and then its slot was really marked for a later event before the
   reader had it.  lost is the number that the code adds up. *)
Theorem exact_loss : forall s i, reachable s ->
  let r := rd s i in
  next r = length (taken r) + lost r
  /\ next r <= wk (wr s)
  /\ Permutation (map a_event (taken r) ++ gone r) (List.seq 0 (next r))
  /\ lost r = length (gone r)
  /\ (forall k, In k (gone r) -> overwritten (wr s) k)
  /\ garbage r = 0.
Proof.
  intros s i R r. apply reachable_ok in R; destruct (st_rd _ R i) as [N T So G A L Ga At].
  assert (Len : next r = length (taken r) + lost r).
  { pose proof (Permutation_length A) as P.
    rewrite app_length, map_length, seq_length in P. unfold r; lia. }
  repeat split; auto.
Qed.

(* Where the cursor has caught up with the writer: written = accepted + overwritten. *)
Corollary written_is_accepted_plus_lost : forall s i, reachable s ->
  next (rd s i) = wk (wr s) ->
  wk (wr s) = length (taken (rd s i)) + lost (rd s i).
Proof. intros s i R E; destruct (exact_loss s i R) as (A & _); lia. Qed.

(* ---- no thread waits ------------------------------------------------------------- *)

Record bounds_ok (s : state) : Prop := {
  bd_msg : forall l t x, nth_error (mem s l) t = Some x -> bounded (mem s) (carries x);
  bd_wr : bounded (mem s) (cur (wth (wr s))) /\ bounded (mem s) (rel (wth (wr s)));
  bd_rd : forall i, bounded (mem s) (cur (rth (rd s i))) /\ bounded (mem s) (acq (rth (rd s i)))
}.

Lemma rstep_thread : forall m r t fits last r',
  rstep Ours m r t fits last = Some r' ->
  (exists o l v th th0, (th0 = rth r \/ th0 = fence_acquire (rth r))
     /\ load o l t m th0 = Some (v, th) /\ rth r' = th)
  \/ rth r' = fence_acquire (rth r).
Proof.
  intros m r t fits last r' H; unfold rstep in H.
  destruct (pc r) as [|[|f todo]| | | |e second|j|later];
    try discriminate;
    try (destruct (load _ _ _ _ _) as [[v th]|] eqn:LD; [|discriminate];
         left; do 5 eexists; split; [|split; [exact LD|]]; [auto|];
         inversion H; subst; clear H; unfold take; try destruct second as [second|];
         repeat match goal with |- context [if ?b then _ else _] => destruct b end;
         try destruct (state_of _ _ _); try destruct last; try destruct later; reflexivity).
  right; inversion H; reflexivity.
Qed.

Lemma step_bounds : forall s c s', bounds_ok s -> step s c = Some s' -> bounds_ok s'.
Proof.
  intros s c s' [BM [BC BR] BRd] H; destruct c as [| |i t fits last]; cbn in H.
  2:{ destruct (wmove Ours (wr s)) as [w|] eqn:E; [|discriminate].
      inversion H; subst; clear H. unfold wmove in E; destruct (wpc (wr s)); [|discriminate].
      inversion E; constructor; cbn; auto. }
  - unfold wstep in H.
    destruct (nth_error (write ev Ours (wk (wr s))) (wpc (wr s))) as [[o l v|]|];
      [|inversion H; subst; constructor; cbn; auto; unfold wnext;
        destruct (_ =? _); cbn; split; assumption|discriminate].
    destruct (store o l v (mem s) (wth (wr s))) as [m th] eqn:E.
    inversion H; subst; clear H.
    destruct (store_bounded _ _ _ _ _ _ _ BM BC BR E) as (A & B & C & D).
    constructor; cbn; auto.
    + unfold wnext; destruct (_ =? _); cbn; split; assumption.
    + intro i; destruct (BRd i); split; apply D; assumption.
  - destruct (rstep Ours (mem s) (rd s i) t fits last) as [r|] eqn:E; [|discriminate].
    inversion H; subst; clear H. constructor; cbn; auto.
    intro j; destruct (i =? j); [|apply BRd].
    destruct (BRd i) as [B1 B2].
    destruct (rstep_thread _ _ _ _ _ _ E) as [(o & l & v & th & th0 & T0 & LD & ->)| ->].
    + assert (bounded (mem s) (cur th0) /\ bounded (mem s) (acq th0)) as [C0 A0].
      { destruct T0 as [-> | ->]; cbn; split; try apply bounded_join; assumption. }
      eapply load_bounded; [exact BM|exact C0|exact A0|exact LD].
    + cbn; split; [apply bounded_join|]; assumption.
Qed.

Lemma reachable_bounds : forall s, reachable s -> bounds_ok s.
Proof.
  intros s [cs H]. assert (B0 : bounds_ok state0).
  { constructor; cbn; unfold bounded, memory0, bottom; cbn; try (split; intros; lia).
    intros l t x X; destruct t as [|[|t]]; cbn in X; try discriminate.
    inversion X; cbn; intros; lia. }
  revert B0 H; generalize state0 as s0. induction cs as [|c cs IH]; cbn; intros s0 B0 H.
  - congruence.
  - destruct (step s0 c) as [s1|] eqn:E; [|discriminate].
    eapply IH; [eapply step_bounds; eauto|assumption].
Qed.

Lemma load_enabled : forall o l m th, bounded m (cur th) ->
  exists v th', load o l (cur th l) m th = Some (v, th').
Proof.
  intros o l m th B; unfold load. rewrite Nat.leb_refl.
  destruct (nth_error (m l) (cur th l)) eqn:E; [eauto|].
  apply nth_error_None in E; specialize (B l); lia.
Qed.

(* The writer and every reader can always take the next step. *)
Theorem nobody_waits : forall s, reachable s ->
  (exists s', step s CWrite = Some s')
  /\ forall i fits last, exists t s', step s (CRead i t fits last) = Some s'.
Proof.
  intros s R; pose proof (reachable_ok _ R) as OK; pose proof (reachable_bounds _ R) as B.
  split.
  - destruct (wstep_enabled _ _ _ (st_mem _ OK)) as (m & w & E).
    cbn; rewrite E; eauto.
  - intros i fits last. destruct (bd_rd _ B i) as [BC BA].
    assert (BF : bounded (mem s) (cur (fence_acquire (rth (rd s i))))).
    { cbn; apply bounded_join; assumption. }
    pose proof (ok_at _ _ _ (st_rd _ OK i)) as AT; unfold pc_ok in AT.
    cbn; unfold rstep.
    destruct (pc (rd s i)) as [|[|f todo]| | | |e second|j|later];
      try (destruct AT as (_ & [] & _); reflexivity);
      try (exists 0; eauto; fail);
      match goal with
      | |- context [load ?o ?l _ ?m ?th] =>
          destruct (load_enabled o l m th ltac:(assumption)) as (v & th' & E);
          exists (cur th l); rewrite E; eauto
      end.
Qed.

(* ---- progress ------------------------------------------------------------------- *)

Fixpoint steps_of (i : nat) (cs : list choice) : nat :=
  match cs with
  | [] => 0
  | CRead j _ _ _ :: rest => (if i =? j then 1 else 0) + steps_of i rest
  | CWrite :: rest | CMove :: rest => steps_of i rest
  end.

(* A complete event whose slot is not marked again: its seq is the newest there. *)
Lemma newest : forall m w n, memory_ok ev m w -> n < wk w -> ~ overwritten w n ->
  length (m (slot_of n, Seq)) = S (seq_of n).
Proof.
  intros m w n OK Hn Ho. rewrite (ok_length _ _ _ OK _ Seq (slot_lt n)). f_equal.
  unfold overwritten, begun in Ho. unfold stores; change (pos Seq) with 0.
  destruct (Nat.eqb_spec (slot_of n) (slot_of (wk w))) as [E|E].
  - rewrite E, turns_here. destruct (0 <? wpc w); cbn [andb]; arith.
  - cbn [andb]; unfold turns; arith.
Qed.

(* Where the reader is after p of the seven steps that take an event. *)
Definition place (p : nat) : rpc :=
  match p with
  | 0 => RFirst
  | 1 => RCopy [Time; Tid; Addr; Act]
  | 2 => RCopy [Tid; Addr; Act]
  | 3 => RCopy [Addr; Act]
  | 4 => RCopy [Act]
  | 5 => RFence
  | _ => RCheck
  end.

Definition has (r : reader) (n : nat) : Prop := exists a, In a (taken r) /\ a_event a = n.

Definition on_the_way (r : reader) (n p : nat) : Prop :=
  (p < 7 /\ next r = n /\ pc r = place p
   /\ seq_of n <= cur (rth r) (slot_of n, Seq))
  \/ has r n.

Lemma rstep_keeps : forall m r t fits last r' n,
  rstep Ours m r t fits last = Some r' -> has r n -> has r' n.
Proof.
  intros m r t fits last r' n H (a & I & E); exists a; split; [|assumption].
  unfold rstep in H.
  destruct (pc r) as [|[|f todo]| | | |e second|j|later];
    try discriminate;
    try (destruct (load _ _ _ _ _) as [[v th]|]; [|discriminate]);
    inversion H; subst; clear H; unfold take; try destruct second as [second|];
    repeat match goal with |- context [if ?b then _ else _] => destruct b end;
    try destruct (state_of _ _ _); try destruct last; try destruct later;
    cbn; auto.
Qed.

Lemma rstep_advances : forall m w r t fits last r' n p,
  memory_ok ev m w -> reader_ok ev w r -> reader_ok ev w r' ->
  n < wk w -> ~ overwritten w n ->
  rstep Ours m r t fits last = Some r' ->
  on_the_way r n p -> on_the_way r' n (S p).
Proof.
  intros m w r t fits last r' n p MOK ROK ROK' Hn Ho H [(Hp & Nx & PC & Cu)|Has].
  2:{ right; eapply rstep_keeps; eauto. }
  pose proof (newest _ _ _ MOK Hn Ho) as Len.
  unfold rstep in H; rewrite PC, Nx in H.
  assert (SEQ : forall o v th, load o (slot_of n, Seq) t m (rth r) = Some (v, th) ->
            v = seq_of n /\ seq_of n <= cur th (slot_of n, Seq)).
  { intros o v th LD; apply load_spec in LD.
    destruct LD as (x & X & -> & C & MC & _).
    rewrite (ok_seq _ _ _ MOK _ _ _ (slot_lt n) X).
    apply nth_lt in X. specialize (MC (slot_of n, Seq)). lia. }
  assert (KEEP : forall o l v th, load o l t m (rth r) = Some (v, th) ->
            seq_of n <= cur th (slot_of n, Seq)).
  { intros o l v th LD; apply load_spec in LD.
    destruct LD as (x & X & -> & C & MC & _). specialize (MC (slot_of n, Seq)). lia. }
  destruct p as [|[|[|[|[|[|[|p]]]]]]]; [..|lia]; cbn [place] in H;
    try (destruct (load _ _ _ _ _) as [[v th]|] eqn:LD; [|discriminate]).
  - destruct (SEQ _ _ _ LD) as [-> C]. rewrite Nat.eqb_refl in H; inversion H; subst.
    left; repeat split; auto; lia.
  - apply KEEP in LD; inversion H; subst; left; repeat split; auto; lia.
  - apply KEEP in LD; inversion H; subst; left; repeat split; auto; lia.
  - apply KEEP in LD; inversion H; subst; left; repeat split; auto; lia.
  - apply KEEP in LD; inversion H; subst; left; repeat split; auto; lia.
  - inversion H; subst; left; split; [lia|]; split; [reflexivity|]; split; [reflexivity|].
    cbn [rth at_pc cur fence_acquire]; etransitivity; [exact Cu|apply join_l].
  - destruct (SEQ _ _ _ LD) as [-> _]. rewrite Nat.eqb_refl in H; inversion H; subst r'.
    right. pose proof (ok_garbage _ _ _ ROK') as G.
    unfold take in *; destruct (plausible (copied r)); [|cbn in G; discriminate].
    eexists; split; [left; reflexivity|exact Nx].
Qed.

Lemma run_begun : forall cs s s', state_ok s -> run s cs = Some s' ->
  wk (wr s) <= wk (wr s') /\ begun (wr s) <= begun (wr s').
Proof.
  induction cs as [|c cs IH]; cbn [Slot.run]; intros s s' OK H; [inversion H; lia|].
  destruct (step s c) as [s1|] eqn:E; [|discriminate].
  pose proof (step_ok _ _ _ OK E) as OK1. destruct (IH _ _ OK1 H) as [A B].
  destruct c as [| |i t fits last]; cbn in E.
  - destruct (wstep ev Ours (mem s) (wr s)) as [[m w]|] eqn:E1; [|discriminate].
    inversion E; subst; clear E. destruct (wstep_mono _ _ _ _ _ E1 (st_mem _ OK)).
    cbn in *; lia.
  - destruct (wmove Ours (wr s)) as [w|] eqn:E1; [|discriminate].
    inversion E; subst; clear E. destruct (wmove_mono _ _ _ E1). cbn in *; lia.
  - destruct (rstep Ours (mem s) (rd s i) t fits last); [|discriminate].
    inversion E; subst; cbn in *; lia.
Qed.

Lemma progress_from : forall cs s s' i n p, state_ok s -> run s cs = Some s' ->
  n < wk (wr s) -> ~ overwritten (wr s') n ->
  on_the_way (rd s i) n p -> on_the_way (rd s' i) n (p + steps_of i cs).
Proof.
  induction cs as [|c cs IH]; cbn [Slot.run]; intros s s' i n p OK H Hn Ho W.
  - inversion H; subst; cbn; rewrite Nat.add_0_r; assumption.
  - destruct (step s c) as [s1|] eqn:E; [|discriminate].
    pose proof (step_ok _ _ _ OK E) as OK1.
    assert (Ho0 : ~ overwritten (wr s) n).
    { assert (Q : run s (c :: cs) = Some s') by (cbn; rewrite E; exact H).
      destruct (run_begun _ _ _ OK Q). unfold overwritten in *; lia. }
    destruct c as [| |j t fits last]; cbn in E.
    + destruct (wstep ev Ours (mem s) (wr s)) as [[m w]|] eqn:E1; [|discriminate].
      inversion E; subst; clear E. destruct (wstep_mono _ _ _ _ _ E1 (st_mem _ OK)).
      cbn [steps_of]; eapply IH; eauto; cbn; lia.
    + destruct (wmove Ours (wr s)) as [w|] eqn:E1; [|discriminate].
      inversion E; subst; clear E. destruct (wmove_mono _ _ _ E1).
      cbn [steps_of]; eapply IH; eauto; cbn; lia.
    + destruct (rstep Ours (mem s) (rd s j) t fits last) as [r|] eqn:E1; [|discriminate].
      inversion E; subst; clear E. cbn [steps_of].
      destruct (Nat.eqb_spec i j) as [<-|NE].
      * replace (p + (1 + steps_of i cs)) with (S p + steps_of i cs) by lia.
        pose proof (st_rd _ OK1 i) as R1. cbn in R1; rewrite Nat.eqb_refl in R1.
        eapply IH; eauto. cbn; rewrite Nat.eqb_refl.
        exact (rstep_advances _ _ _ _ _ _ _ _ _ (st_mem _ OK) (st_rd _ OK i) R1 Hn Ho0 E1 W).
      * eapply IH; eauto. cbn. destruct (Nat.eqb_spec j i); [congruence|assumption].
Qed.

(* A reader that begins to look for a complete event, to which the event has become visible,
   and that makes its seven steps before the event's slot is marked again, accepts it,
   whatever all other threads do meanwhile. *)
Theorem progress : forall s cs s' i, reachable s -> run s cs = Some s' ->
  let n := next (rd s i) in
  pc (rd s i) = RFirst ->
  n < wk (wr s) ->
  seq_of n <= cur (rth (rd s i)) (slot_of n, Seq) ->
  ~ overwritten (wr s') n ->
  7 <= steps_of i cs ->
  exists a, In a (taken (rd s' i)) /\ a_event a = n.
Proof.
  intros s cs s' i R H n PC Hn Cu Ho Hs.
  assert (W : on_the_way (rd s i) n 0) by (left; repeat split; auto; lia).
  destruct (progress_from _ _ _ _ _ _ (reachable_ok _ R) H Hn Ho W) as [(Q & _)|Has];
    [lia|exact Has].
Qed.

(* ---- the end: a writer at rest is read to its last event ------------------------- *)

(* The reader has come to the newest seq of every slot. *)
Definition up_to_date (m : memory) (r : reader) : Prop :=
  forall j, j < 8 -> length (m (j, Seq)) <= S (cur (rth r) (j, Seq)).

(* An upper bound of the steps until the cursor moves. *)
Definition to_go (m : memory) (r : reader) : nat :=
  let here := length (m (slot_of (next r), Seq)) =? S (seq_of (next r)) in
  match pc r with
  | RLater j => 17 - j
  | RAgain _ => 10
  | RCompany _ (Some _) => 9
  | RCompany _ None => 1
  | RSkip => if here then 8 else 2
  | RFirst => if here then 7 else 3
  | RCopy todo => 2 + length todo
  | RFence => 2
  | RCheck => if here then 1 else 3
  end + (if here then 0 else match pc r with RCopy _ | RFence => 2 | _ => 0 end).

Definition measure (m : memory) (w : writer) (r : reader) : nat :=
  20 * (wk w - next r) + to_go m r.

Lemma rstep_up_to_date : forall m r t fits last r',
  rstep Ours m r t fits last = Some r' -> up_to_date m r -> up_to_date m r'.
Proof.
  intros m r t fits last r' H U j Hj; specialize (U j Hj).
  enough (cur (rth r) (j, Seq) <= cur (rth r') (j, Seq)) by lia.
  destruct (rstep_thread _ _ _ _ _ _ H) as [(o & l & v & th & th0 & T0 & LD & ->)| ->].
  - apply load_spec in LD; destruct LD as (x & _ & _ & _ & MC & _).
    etransitivity; [|apply MC]. destruct T0 as [-> | ->]; [lia|cbn; apply join_l].
  - cbn; apply join_l.
Qed.

Lemma to_go_bound : forall m w r, reader_ok ev w r -> to_go m r <= 17.
Proof.
  intros m w r OK; pose proof (ok_at _ _ _ OK) as AT; unfold to_go, pc_ok in *.
  destruct (_ =? _); destruct (pc r) as [|todo| | | |e [second|]|j|later]; try lia.
  all: destruct AT as (_ & _ & (past & E) & _);
    apply (f_equal (@length field)) in E; rewrite app_length in E; cbn in E; lia.
Qed.

Local Ltac count n len :=
  unfold measure, to_go; cbn [next at_pc set_copied pc];
  match goal with PC : pc _ = _ |- _ => rewrite PC end; fold n; fold len.

(* The writer is at rest, the newest is visible: what the reader finds in its event's slot. *)
Lemma rstep_decreases : forall m w r t last r',
  memory_ok ev m w -> reader_ok ev w r -> reader_ok ev w r' ->
  up_to_date m r -> next r < wk w ->
  rstep Ours m r t true last = Some r' ->
  measure m w r' < measure m w r.
Proof.
  intros m w r t last r' MOK ROK ROK' U Hn H.
  pose proof (ok_next _ _ _ ROK') as Hn'.
  pose proof (to_go_bound m w r' ROK') as B'.
  assert (MOVED : next r < next r' -> measure m w r' < measure m w r).
  { intro; unfold measure; lia. }
  pose proof (ok_at _ _ _ ROK) as AT; unfold pc_ok in AT.
  set (n := next r) in *. set (len := length (m (slot_of n, Seq))) in *.
  pose proof (U _ (slot_lt n)) as Un; fold len in Un.
  assert (LEN : seq_of n < len).
  { unfold len; rewrite (ok_length _ _ _ MOK _ Seq (slot_lt n)); unfold stores.
    pose proof (turns_past n (wk w) Hn). unfold seq_of, slots. lia. }
  assert (SEQ : forall o v th, load o (slot_of n, Seq) t m (rth r) = Some (v, th) ->
            S v = len).
  { intros o v th LD; apply load_spec in LD; destruct LD as (x & X & -> & C & _).
    rewrite (ok_seq _ _ _ MOK _ _ _ (slot_lt n) X). apply nth_lt in X; fold len in X; lia. }
  unfold rstep in H; fold n in H.
  destruct (pc r) as [|todo| | | |e second|j|later] eqn:PC.
  - (* RFirst *)
    destruct (load _ _ _ _ _) as [[v th]|] eqn:LD; [|discriminate].
    apply SEQ in LD; inversion H; subst r'; clear H. count n len.
    destruct (Nat.eqb_spec v (seq_of n)) as [E|E];
      destruct (Nat.eqb_spec len (S (seq_of n))); cbn [length payload_fields]; try lia.
  - (* RCopy *)
    destruct todo as [|f todo]; [discriminate|].
    destruct (load _ _ _ _ _) as [[v th]|] eqn:LD; [|discriminate].
    inversion H; subst r'; clear H. count n len.
    destruct (len =? S (seq_of n)); destruct todo; cbn [length]; lia.
  - (* RFence *)
    inversion H; subst r'; clear H. count n len.
    destruct (len =? S (seq_of n)); lia.
  - (* RCheck *)
    destruct (load _ _ _ _ _) as [[v th]|] eqn:LD; [|discriminate].
    apply SEQ in LD; inversion H; subst r'; clear H.
    destruct (Nat.eqb_spec v (seq_of n)) as [E|E].
    + apply MOVED. unfold take, count_lost; fold n. destruct (plausible _); cbn; fold n; lia.
    + count n len.
      destruct (Nat.eqb_spec len (S (seq_of n))); lia.
  - (* RSkip *)
    destruct (load _ _ _ _ _) as [[v th]|] eqn:LD; [|discriminate].
    apply SEQ in LD; inversion H; subst r'; clear H.
    unfold state_of in *.
    destruct (Nat.eqb_spec v (seq_of n)) as [E|E].
    + count n len.
      destruct (Nat.eqb_spec len (S (seq_of n))); lia.
    + destruct (Nat.eqb_spec v (if 2 <? seq_of n then seq_of n - 2 else 0)) as [E2|E2];
        [destruct (2 <? seq_of n); lia|].
      destruct (Nat.eqb_spec v (seq_of n - 1)); [lia|].
      destruct (Nat.ltb_spec (seq_of n) v); [cbn [andb] in *|lia].
      count n len; destruct (Nat.eqb_spec len (S (seq_of n))); lia.
  - (* RCompany *)
    destruct AT as (N8 & _ & A).
    destruct (load _ _ _ _ _) as [[v th]|] eqn:LD; [|discriminate].
    assert (V : (seq_of (e - 2) <=? v) = true).
    { apply load_spec in LD; destruct LD as (x & X & -> & C & _).
      rewrite (ok_seq _ _ _ MOK _ _ _ (slot_lt _) X). apply Nat.leb_le.
      cbn [cur fence_acquire] in C; unfold join in C; lia. }
    rewrite V in H; cbn [andb orb] in H.
    destruct second as [later|]; inversion H; subst r'; clear H.
    + count n len; destruct (len =? S (seq_of n)); lia.
    + apply MOVED; cbn [next count_lost]; fold n; lia.
  - (* RLater *)
    destruct (load _ _ _ _ _) as [[v th]|] eqn:LD; [|discriminate].
    inversion H; subst r'; clear H.
    destruct ((seq_of (n + 1 + j) <=? v) && true); [|destruct (S j <? 7)];
      count n len; destruct (len =? S (seq_of n)); lia.
  - (* RAgain *)
    destruct (load _ _ _ _ _) as [[v th]|] eqn:LD; [|discriminate].
    apply SEQ in LD; inversion H; subst r'; clear H.
    unfold state_of in *.
    destruct (Nat.eqb_spec v (seq_of n)) as [E|E].
    + count n len.
      destruct (Nat.eqb_spec len (S (seq_of n))); lia.
    + destruct (Nat.eqb_spec v (if 2 <? seq_of n then seq_of n - 2 else 0)) as [E2|E2];
        [destruct (2 <? seq_of n); lia|].
      destruct (Nat.eqb_spec v (seq_of n - 1)); [lia|].
      destruct (Nat.ltb_spec (seq_of n) v); [cbn [andb] in *|lia].
      count n len.
      destruct (Nat.eqb_spec len (S (seq_of n))); lia.
Qed.

(* Only readers take steps, and a seq that an honest writer wrote is accepted. *)
Definition reader_step (c : choice) : Prop :=
  match c with CWrite | CMove => False | CRead _ _ fits _ => fits = true end.

Lemma drain_from : forall cs s s' i, state_ok s -> run s cs = Some s' ->
  Forall reader_step cs -> up_to_date (mem s) (rd s i) ->
  wr s' = wr s
  /\ (next (rd s' i) = wk (wr s)
      \/ measure (mem s') (wr s') (rd s' i) + steps_of i cs
         <= measure (mem s) (wr s) (rd s i)).
Proof.
  induction cs as [|c cs IH]; cbn [Slot.run]; intros s s' i OK H F U.
  - inversion H; subst; split; [reflexivity|]. right; cbn; lia.
  - destruct (step s c) as [s1|] eqn:E; [|discriminate].
    pose proof (step_ok _ _ _ OK E) as OK1.
    inversion F as [|? ? Fc Fcs]; subst. destruct c as [| |j t fits last]; [contradiction|contradiction|].
    cbn in Fc; subst fits; cbn in E.
    destruct (rstep Ours (mem s) (rd s j) t true last) as [r|] eqn:E1; [|discriminate].
    inversion E; subst s1; clear E. pose proof (st_rd _ OK1 i) as R1; cbn in R1.
    assert (U1 : up_to_date (mem s) (if j =? i then r else rd s i)).
    { destruct (Nat.eqb_spec j i) as [<-|]; [eapply rstep_up_to_date; eauto|assumption]. }
    destruct (IH _ _ i OK1 H Fcs U1) as [W Q]; cbn [wr mem rd set_reader] in W, Q.
    split; [assumption|]. destruct Q as [Q|Q]; [left; assumption|].
    cbn [steps_of]. destruct (Nat.eqb_spec j i) as [<-|NE].
    2:{ destruct (Nat.eqb_spec i j); [congruence|]. right; exact Q. }
    rewrite Nat.eqb_refl.
    destruct (Nat.eq_dec (next (rd s j)) (wk (wr s))) as [D|D].
    + (* it was there already, and stays *)
      left. assert (OK' : state_ok s') by (eapply run_ok; eauto).
      pose proof (ok_next _ _ _ (st_rd _ OK' j)) as N'. rewrite W in N'.
      assert (M1 : forall m r0 t f l r1, rstep Ours m r0 t f l = Some r1 -> next r0 <= next r1).
      { clear; intros m r0 t f l r1 H; unfold rstep in H.
        destruct (pc r0) as [|[|g todo]| | | |e second|j|later]; try discriminate;
          try (destruct (load _ _ _ _ _) as [[v th]|]; [|discriminate]);
          inversion H; subst; clear H; unfold take; try destruct second as [second|];
          repeat match goal with |- context [if ?b then _ else _] => destruct b end;
          try destruct (state_of _ _ _); try destruct l; try destruct later; cbn; lia. }
      assert (M2 : forall cs0 s0 s0', run s0 cs0 = Some s0' ->
                 next (rd s0 j) <= next (rd s0' j)).
      { clear -M1; induction cs0 as [|c cs0 IH]; cbn [Slot.run]; intros s0 s0' H.
        - inversion H; lia.
        - destruct (step s0 c) as [s1|] eqn:E; [|discriminate].
          apply IH in H. destruct c as [| |i t f l]; cbn in E.
          + destruct (wstep ev Ours (mem s0) (wr s0)) as [[m w]|]; [|discriminate].
            inversion E; subst; cbn in H; assumption.
          + destruct (wmove Ours (wr s0)) as [w|]; [|discriminate].
            inversion E; subst; cbn in H; assumption.
          + destruct (rstep Ours (mem s0) (rd s0 i) t f l) as [r1|] eqn:E1; [|discriminate].
            inversion E; subst; cbn in H. destruct (Nat.eqb_spec i j) as [->|]; [|assumption].
            apply M1 in E1; lia. }
      apply M2 in H; cbn in H; rewrite Nat.eqb_refl in H. apply M1 in E1. lia.
    + right. pose proof (ok_next _ _ _ (st_rd _ OK j)).
      assert (measure (mem s) (wr s) r < measure (mem s) (wr s) (rd s j)).
      { refine (rstep_decreases _ _ _ _ _ _ (st_mem _ OK) (st_rd _ OK j) R1 U _ E1); lia. }
      lia.
Qed.

(* The writer rests after W events, and what it wrote has become visible.  A reader,
   wherever it stands, has accounted for all of them after a bounded number of its
   own steps, and then written = accepted + overwritten. *)
Theorem drained : forall s cs s' i, reachable s -> run s cs = Some s' ->
  Forall reader_step cs ->
  up_to_date (mem s) (rd s i) ->
  20 * (wk (wr s) - next (rd s i)) + 17 < steps_of i cs ->
  next (rd s' i) = wk (wr s)
  /\ wk (wr s) = length (taken (rd s' i)) + lost (rd s' i).
Proof.
  intros s cs s' i R H F U Hs.
  pose proof (reachable_ok _ R) as OK.
  destruct (drain_from _ _ _ i OK H F U) as [W Q].
  assert (N : next (rd s' i) = wk (wr s)).
  { destruct Q as [Q|Q]; [assumption|]. exfalso.
    pose proof (to_go_bound (mem s) (wr s) (rd s i) (st_rd _ OK i)).
    unfold measure in Q. lia. }
  split; [assumption|].
  assert (R' : reachable s').
  { destruct R as [cs0 E]; exists (cs0 ++ cs). erewrite run_app; eauto. }
  rewrite <- W; apply written_is_accepted_plus_lost; [assumption|congruence].
Qed.

End Theorems.
