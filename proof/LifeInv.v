(* SPDX-License-Identifier: MIT *)
(*
   LifeInv.v - the invariant of entries and of those who read them.

   The history of an entry's id is 0, id, 0, id, 0, ...: life k (from 0) stores its id at the
   timestamp 2k + 1 and a 0 at 2k + 2.  Two facts make a copy whole:
     - the id of life k brings along that all older lives' stores are overwritten;
     - a store of life k brings along the 0 of the life before it: a reader that has copied
       it cannot find the id of an older life again.
   The second one is what a hand-over breaks without ctp_fence_handover().
   The thread that has an entry has seen every store to it.
*)
Require Import Arith List Lia Bool.
Require Import Memory Life.
Import ListNotations.

Lemma upd_here : forall A (g : nat -> A) n x, upd g n x n = x.
Proof. intros; unfold upd; rewrite Nat.eqb_refl; reflexivity. Qed.

Lemma upd_other : forall A (g : nat -> A) n n' x, n' <> n -> upd g n x n' = g n'.
Proof. intros; unfold upd; destruct (Nat.eqb_spec n n'); congruence. Qed.

Lemma nth_old : forall A (a b : list A) n x, nth_error a n = Some x -> nth_error (a ++ b) n = Some x.
Proof.
  intros A a b n x H; rewrite nth_error_app1; [assumption|]. apply nth_error_Some; congruence.
Qed.

Lemma nth_more : forall A (a b : list A) n x, nth_error (a ++ b) n = Some x ->
  nth_error a n = Some x \/ (length a <= n /\ In x b).
Proof.
  intros A a b n x H; destruct (Nat.lt_ge_cases n (length a)) as [L|L].
  - rewrite nth_error_app1 in H by assumption; auto.
  - rewrite nth_error_app2 in H by assumption; right; split; [assumption|].
    eapply nth_error_In; eauto.
Qed.

Lemma nth_last : forall A (a : list A) n x y, nth_error (a ++ [x]) n = Some y ->
  nth_error a n = Some y \/ (n = length a /\ y = x).
Proof.
  intros A a n x y H; destruct (Nat.lt_ge_cases n (length a)) as [L|L].
  - rewrite nth_error_app1 in H by assumption; auto.
  - rewrite nth_error_app2 in H by assumption. right.
    destruct (n - length a) as [|d] eqn:E; [|destruct d; discriminate].
    injection H as <-; split; [lia|reflexivity].
Qed.

Definition entry_of (x : place) : option nat :=
  match x with LastId => None | Id e | Field e _ => Some e end.

Definition nr (s : state) (e : nat) : nat := length (lives s e).

Definition alive (h : hold) : bool := match h with Alive _ | Adrift _ => true | _ => false end.

(* What the thread that has the entry has seen. *)
Definition view_of (s : state) (e : nat) : view :=
  match holder s e with
  | Fresh => bottom
  | Held t | Alive t => cur (th (work s t))
  | Pooled v | Adrift v => v
  end.

(* A store of life k left this value in the field. *)
Definition stored (s : state) (e k f v : nat) : Prop := exists j x,
  nth_error (whose s e f) j = Some k /\ nth_error (mem s (Field e f)) (S j) = Some x /\ val x = v.

(* What a view leaves to be read is of life k, or of a later one. *)
Definition since (s : state) (e f k : nat) (v : view) : Prop :=
  forall t, v (Field e f) <= t -> t < length (mem s (Field e f)) ->
  exists j k', t = S j /\ nth_error (whose s e f) j = Some k' /\ k <= k'.

(* All that was copied is of life k; or it is a state that says that the entry is unused; or the
   view knows that life k has ended. *)
Definition copies (s : state) (e k : nat) (got : list nat) (v : view) : Prop :=
  forall f w, nth_error got f = Some w ->
  stored s e k f w \/ (f = State /\ w = 0) \/ 2 * k + 2 <= v (Id e).

(* A copy that life_read() returns. *)
Definition whole (fields : nat) (s : state) (c : copy) : Prop := exists k,
  nth_error (lives s (c_entry c)) k = Some (c_id c) /\ length (c_fields c) = fields
  /\ forall f w, nth_error (c_fields c) f = Some w -> stored s (c_entry c) k f w.

Section Invariant.

Variable fields : nat.
Variable o : orders.

Record entry_ok (s : state) (e : nat) : Prop := {
  ek_length : length (mem s (Id e)) + (if alive (holder s e) then 1 else 0) = S (2 * nr s e);
  ek_alive : alive (holder s e) = true -> 0 < nr s e;
  ek_unused : forall k x, nth_error (mem s (Id e)) (2 * k) = Some x -> val x = 0;
  ek_named : forall k x, nth_error (mem s (Id e)) (S (2 * k)) = Some x ->
    nth_error (lives s e) k = Some (val x) /\ forall f, f < fields -> since s e f k (carries x);
  ek_whose : forall f, length (mem s (Field e f)) = S (length (whose s e f));
  ek_brings : forall f j x k, nth_error (mem s (Field e f)) (S j) = Some x ->
    nth_error (whose s e f) j = Some k -> (f = State /\ val x = 0) \/ 2 * k <= carries x (Id e);
  ek_covered : forall x, entry_of x = Some e -> covers (mem s) (view_of s e) x;
  ek_rel : forall t, o_multi o = true -> holder s e = Alive t ->
    2 * life s e <= rel (th (work s t)) (Id e)
}.

(* The fields before f are stored, after the fence. *)
Definition born (s : state) (e f : nat) (h : thread) : Prop :=
  2 * nr s e <= rel h (Id e)
  /\ forall g, g < f -> exists j,
       length (whose s e g) = S j /\ nth_error (whose s e g) j = Some (nr s e).

Definition runs (s : state) (t e : nat) (h : thread) : Prop :=
  holder s e = Alive t /\ 2 * life s e <= rel h (Id e).

Definition pc_ok (s : state) (t : nat) (h : thread) (p : tpc) : Prop :=
  match p with
  | TIdle | TRead _ => True
  | TFence e => holder s e = Held t
  | TBirth e f => holder s e = Held t /\ f < fields /\ born s e f h
  | TNumber e | TName e _ => holder s e = Held t /\ born s e fields h
  | TLook e _ | TEnter e _ _ | TZero e => holder s e = Alive t
  | TPut e _ _ | TTick e _ _ _ | TTicked e _ _ _ | TCount e _ _ _ | TCounted e _ _ _ | TAfter e =>
      runs s t e h
  | TZeroState e => holder s e = Held t /\ 0 < nr s e
  | TCopy e id got => length got < fields
      /\ exists k, nth_error (lives s e) k = Some id
         /\ (forall f, f < fields -> since s e f k (cur h)) /\ copies s e k got (acq h)
  | TReadFence e id got => length got = fields
      /\ exists k, nth_error (lives s e) k = Some id /\ copies s e k got (acq h)
  | TCheck e id got => length got = fields
      /\ exists k, nth_error (lives s e) k = Some id /\ copies s e k got (cur h)
  end.

Record shape_ok (s : state) : Prop := {
  sh_entries : forall e, entry_ok s e;
  sh_pcs : forall t, dead (work s t) = false -> pc_ok s t (th (work s t)) (pc (work s t));
  sh_reads : forall c, In c (reads s) -> whole fields s c
}.

(* Ids are given once. *)
Record ids_ok (s : state) : Prop := {
  id_range : forall e k i, nth_error (lives s e) k = Some i -> 0 < i <= newest (mem s) LastId;
  id_unique : forall e k e' k' i, nth_error (lives s e) k = Some i ->
    nth_error (lives s e') k' = Some i -> e = e' /\ k = k';
  id_new : forall t e i, pc (work s t) = TName e i -> 0 < i <= newest (mem s) LastId
    /\ forall e' k, nth_error (lives s e') k <> Some i;
  id_alone : forall t t' e e' i, pc (work s t) = TName e i -> pc (work s t') = TName e' i -> t = t'
}.

(* ---- what a step of thread t leaves as it is --------------------------------------- *)

Record frame (s s' : state) (t : nat) : Prop := {
  fr_lives : forall e, exists more, lives s' e = lives s e ++ more;
  fr_whose : forall e f, exists more,
    whose s' e f = whose s e f ++ more /\ forall k, In k more -> nr s e <= S k;
  fr_mem : forall x, exists more, mem s' x = mem s x ++ more;
  fr_length : forall e f, length (mem s' (Field e f)) = S (length (whose s' e f));
  fr_cur : forall t' x, cur (th (work s t')) x <= cur (th (work s' t')) x;
  fr_rel : forall t' x, rel (th (work s t')) x <= rel (th (work s' t')) x
    \/ cur (th (work s t')) x <= rel (th (work s' t')) x;
  fr_others : forall t', t' <> t -> work s' t' = work s t'
}.

Definition same_entry (s s' : state) (e : nat) : Prop :=
  holder s' e = holder s e /\ lives s' e = lives s e /\ (forall f, whose s' e f = whose s e f)
  /\ forall x, entry_of x = Some e -> mem s' x = mem s x.

Lemma since_frame : forall s s' t e f k v, frame s s' t ->
  length (mem s (Field e f)) = S (length (whose s e f)) -> k < nr s e ->
  since s e f k v -> since s' e f k v.
Proof.
  intros s s' t e f k v F L K H u V U.
  destruct (fr_whose _ _ _ F e f) as (more & W & M). rewrite W.
  destruct (Nat.lt_ge_cases u (length (mem s (Field e f)))) as [B|B].
  - destruct (H u V B) as (j & k' & E & N & Q); exists j, k'; auto using nth_old.
  - destruct u as [|j]; [lia|]. rewrite (fr_length _ _ _ F), W in U.
    destruct (nth_error (whose s e f ++ more) j) as [k'|] eqn:N.
    + exists j, k'; repeat split; auto. apply nth_more in N; destruct N as [N|[_ N]].
      * assert (j < length (whose s e f)) by (apply nth_error_Some; congruence). lia.
      * specialize (M _ N); lia.
    + apply nth_error_None in N; lia.
Qed.

Lemma stored_frame : forall s s' t e k f v, frame s s' t -> stored s e k f v -> stored s' e k f v.
Proof.
  intros s s' t e k f v F (j & x & W & M & V).
  destruct (fr_whose _ _ _ F e f) as (w & EW & _); destruct (fr_mem _ _ _ F (Field e f)) as (m & EM).
  exists j, x; rewrite EW, EM; auto using nth_old.
Qed.

Lemma lives_frame : forall s s' t e k i, frame s s' t ->
  nth_error (lives s e) k = Some i -> nth_error (lives s' e) k = Some i.
Proof.
  intros s s' t e k i F H; destruct (fr_lives _ _ _ F e) as (m & E); rewrite E; auto using nth_old.
Qed.

Lemma copies_frame : forall s s' t e k got v, frame s s' t ->
  copies s e k got v -> copies s' e k got v.
Proof.
  intros s s' t e k got v F C f w N; destruct (C f w N) as [S|S]; eauto using stored_frame.
Qed.

Lemma copies_later : forall s e k got v v', (forall x, v x <= v' x) ->
  copies s e k got v -> copies s e k got v'.
Proof.
  intros s e k got v v' V C f w N; destruct (C f w N) as [S|[S|S]]; auto.
  right; right; etransitivity; [exact S|apply V].
Qed.

Lemma entry_frame : forall s s' t e, frame s s' t -> same_entry s s' e ->
  entry_ok s e -> entry_ok s' e.
Proof.
  intros s s' t e F (H & L & W & M) [K1 K2 K3 K4 K5 K6 K7 K8].
  assert (N : nr s' e = nr s e) by (unfold nr; rewrite L; reflexivity).
  assert (V : forall x, view_of s e x <= view_of s' e x).
  { intro x; unfold view_of; rewrite H; destruct (holder s e); auto; apply (fr_cur _ _ _ F). }
  constructor; rewrite ?H, ?N, ?L, ?(M (Id e) eq_refl); auto.
  - intros k x X; destruct (K4 k x X) as [A B]; split; [assumption|]. intros f Hf.
    eapply since_frame; eauto. unfold nr; apply nth_error_Some; congruence.
  - intro f; rewrite M, W by reflexivity; auto.
  - intros f j x k; rewrite M, W by reflexivity; eauto.
  - intros x X; eapply covers_same; [apply M; assumption|].
    eapply covers_mono; [apply V|]; auto.
  - intros u B A; specialize (K8 u B A); unfold life in *; rewrite L.
    destruct (fr_rel _ _ _ F u (Id e)) as [Q|Q]; [lia|].
    specialize (K7 (Id e) eq_refl); unfold covers, view_of in K7; rewrite A in *; cbn [alive] in *.
    unfold nr in *; lia.
Qed.

Lemma pc_frame : forall s s' t t' h p, frame s s' t ->
  (forall e, entry_ok s e) ->
  (forall e, holder s e = Held t' \/ holder s e = Alive t' -> same_entry s s' e) ->
  pc_ok s t' h p -> pc_ok s' t' h p.
Proof.
  intros s s' t t' h p F K E P.
  assert (HE : forall e, holder s e = Held t' -> holder s' e = Held t').
  { intros e A; destruct (E e) as (B & _); [auto|congruence]. }
  assert (AE : forall e, holder s e = Alive t' -> holder s' e = Alive t').
  { intros e A; destruct (E e) as (B & _); [auto|congruence]. }
  assert (BE : forall e f, holder s e = Held t' -> born s e f h -> born s' e f h).
  { intros e f A [B C]; destruct (E e) as (_ & L & W & _); [auto|].
    unfold born, nr in *; rewrite L; split; [assumption|]. intros g G; rewrite W; auto. }
  assert (RE : forall e, runs s t' e h -> runs s' t' e h).
  { intros e [A B]; split; [auto|]. destruct (E e) as (_ & L & _); [auto|].
    unfold life in *; rewrite L; assumption. }
  destruct p; cbn in *; auto; try (destruct P as (P1 & P2); split; auto; fail).
  - destruct P as (A & B & C); split; [|split]; auto.
  - destruct P as (A & B); split; auto. destruct (E e) as (_ & L & _); [auto|].
    unfold nr; rewrite L; assumption.
  - destruct P as (A & k & B & C & D); split; [assumption|]; exists k.
    split; [eapply lives_frame; eauto|]; split; [|eapply copies_frame; eauto].
    intros f Hf; eapply since_frame; eauto; [apply (ek_whose _ _ (K e))|].
    unfold nr; apply nth_error_Some; congruence.
  - destruct P as (A & k & B & C); split; [assumption|]; exists k.
    split; [eapply lives_frame; eauto|eapply copies_frame; eauto].
  - destruct P as (A & k & B & C); split; [assumption|]; exists k.
    split; [eapply lives_frame; eauto|eapply copies_frame; eauto].
Qed.

Lemma whole_frame : forall s s' t c, frame s s' t -> whole fields s c -> whole fields s' c.
Proof.
  intros s s' t c F (k & A & B & C); exists k; split; [eapply lives_frame; eauto|].
  split; [assumption|]; intros; eapply stored_frame; eauto.
Qed.

(* All that a step must keep: the entries that it changes, and its own thread. *)
Lemma shape_step : forall s s' t, shape_ok s -> frame s s' t ->
  (forall e, same_entry s s' e
     \/ (entry_ok s' e /\ forall t', t' <> t -> dead (work s t') = false ->
           holder s e <> Held t' /\ holder s e <> Alive t')) ->
  (dead (work s' t) = false -> pc_ok s' t (th (work s' t)) (pc (work s' t))) ->
  (forall c, In c (reads s') -> In c (reads s) \/ whole fields s' c) ->
  shape_ok s'.
Proof.
  intros s s' t [KE KP KR] F E P R; constructor.
  - intro e; destruct (E e) as [S|[S _]]; [eapply entry_frame; eauto|assumption].
  - intros t' D; destruct (Nat.eq_dec t' t) as [->|NE]; [auto|].
    rewrite (fr_others _ _ _ F t' NE) in *.
    eapply pc_frame; eauto. intros e H; destruct (E e) as [S|[_ S]]; [assumption|].
    destruct (S t' NE D); destruct H; contradiction.
  - intros c I; destruct (R c I) as [Q|Q]; [eapply whole_frame; eauto|assumption].
Qed.

End Invariant.
