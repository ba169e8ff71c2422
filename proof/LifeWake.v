(* SPDX-License-Identifier: MIT *)
(*
   LifeWake.v - wake-ups: a thread names a coroutine that another thread has.

   ctp_life_wake() loads the id of the entry by a relaxed load, with no fence.  The thread got
   the coroutine's handle (the pointer to its entry) from the thread that has the coroutine, or from one that
   had the handle, by the program's own release and acquire; and the program does not destroy a
   coroutine while a thread has a handle with which it may wake it.  All steps of Life.v may happen in
   between: events, hand-overs, deaths, other entries that begin and end.
*)
Require Import Arith List Lia Bool.
Require Import Memory Life LifeInv LifeSteps LifeTheorems.
Import ListNotations.

Record handle := Handle { h_thread : nat; h_entry : nat; h_life : nat }.
(* A wake's record: the entry and the life that were meant, and the id that was loaded. *)
Record wake := Wake { w_entry : nat; w_life : nat; w_id : nat }.

Record wstate := W
  { base : state;
    handles : list handle;
    wakes : list wake;
    missed : nat }.            (* wakes that found no id *)

Definition wstate0 : wstate := W state0 [] [] 0.

Inductive wchoice :=
| Plain (c : choice)           (* a step of Life.v *)
| Lend (d t e : nat)           (* thread d, which has the coroutine in e, gives t a handle *)
| Pass (h : handle) (t : nat)  (* it is given to another thread *)
| WakeUp (h : handle) (a : nat)  (* ctp_life_wake(): the id, at position a *)
| Forget (h : handle).

Definition same_handle (a b : handle) : bool :=
  (h_thread a =? h_thread b) && (h_entry a =? h_entry b) && (h_life a =? h_life b).

(* This step ends the coroutine of entry e. *)
Definition ends (s : state) (c : choice) (e : nat) : bool :=
  match c with
  | Go t _ _ _ => match pc (work s t) with TZero e' => e' =? e | _ => false end
  | _ => false
  end.

Section Wake.

Variable fields : nat.
Variable o : orders.
(* The program keeps a coroutine while it may be woken; a handle passes on what was seen. *)
Variable keeps passes : bool.

Definition idle (s : state) (t : nat) : bool :=
  negb (dead (work s t)) && match pc (work s t) with TIdle => true | _ => false end.

Definition get (s : state) (t : nat) (v : view) : state :=
  at_pc s t (if passes then acquire (th (work s t)) v (o_multi o) else th (work s t)) TIdle.

Definition wstep (w : wstate) (c : wchoice) : option wstate :=
  let s := base w in
  let has h := existsb (same_handle h) (handles w) in
  match c with
  | Plain c =>
      if keeps && existsb (fun h => ends s c (h_entry h)) (handles w) then None
      else match step fields o s c with
           | Some s' => Some (W s' (handles w) (wakes w) (missed w))
           | None => None
           end
  | Lend d t e =>
      match holder s e with
      | Alive d' =>
          if (d =? d') && idle s t && negb (dead (work s d)) then
            Some (W (get s t (cur (th (work s d)))) (Handle t e (life s e) :: handles w) (wakes w)
                    (missed w))
          else None
      | _ => None
      end
  | Pass h t =>
      if has h && idle s t && negb (dead (work s (h_thread h))) then
        Some (W (get s t (cur (th (work s (h_thread h)))))
                (Handle t (h_entry h) (h_life h) :: handles w) (wakes w) (missed w))
      else None
  | WakeUp h a =>
      if has h && idle s (h_thread h) then
        match load Relaxed (Id (h_entry h)) a (mem s) (th (work s (h_thread h))) with
        | Some (v, th') =>
            let s' := at_pc s (h_thread h) th' TIdle in
            Some (if v =? 0 then W s' (handles w) (wakes w) (S (missed w))
                  else W s' (handles w) (Wake (h_entry h) (h_life h) v :: wakes w) (missed w))
        | None => None
        end
      else None
  | Forget h => Some (W s (filter (fun h' => negb (same_handle h h')) (handles w)) (wakes w) (missed w))
  end.

Fixpoint wrun (w : wstate) (cs : list wchoice) : option wstate :=
  match cs with
  | [] => Some w
  | c :: rest => match wstep w c with Some w' => wrun w' rest | None => None end
  end.

End Wake.

Section Theorems.

Variable fields : nat.
Hypothesis some_fields : Events < fields.
Variable o : orders.
Hypothesis orders_ok : o = fenced \/ o = multi_copy.

Notation state_ok := (LifeTheorems.state_ok fields o).

Definition grows (s s' : state) : Prop :=
  (forall t x, cur (th (work s t)) x <= cur (th (work s' t)) x)
  /\ forall e, exists more, lives s' e = lives s e ++ more.

Definition stays (s s' : state) (e : nat) : Prop :=
  alive (holder s e) = true -> alive (holder s' e) = true /\ lives s' e = lives s e.

Lemma upd_cur : forall (w : nat -> worker) t h p d, (forall x, cur (th (w t)) x <= cur h x) ->
  forall t' x, cur (th (w t')) x <= cur (th (upd w t (Worker h p d) t')) x.
Proof.
  intros w t h p d C t' x; destruct (Nat.eq_dec t' t) as [->|N]; [rewrite upd_here; apply C|].
  rewrite upd_other by assumption; lia.
Qed.

Lemma same_lives : forall s (s' : state), lives s' = lives s ->
  forall e, exists more, lives s' e = lives s e ++ more.
Proof. intros s s' E e; exists []; rewrite E, app_nil_r; reflexivity. Qed.

Ltac views := first [apply upd_cur; cbn; intro; first [apply join_l | lia] | apply upd_cur; cbn; auto].

Lemma go_grows : forall s t a f v s', state_ok s -> dead (work s t) = false ->
  go fields o s t a f v = Some s' ->
  grows s s' /\ forall e, ends s (Go t a f v) e = false -> stays s s' e.
Proof.
  intros s t a f v s' OK D G. pose proof (sh_pcs _ _ _ (st_shape _ _ _ OK) t D) as P.
  assert (LV : forall ord x w h, load ord x a (mem s) (th (work s t)) = Some (w, h) ->
    forall y, cur (th (work s t)) y <= cur h y).
  { intros ord x w h L; apply (load_views _ _ _ _ _ _ _ L). }
  unfold go in G; unfold ends; destruct (pc (work s t)) eqn:E; try discriminate;
    try (destruct (may_put _ _ _); [|discriminate]);
    try (destruct (load _ _ _ _ _) as [[w h]|] eqn:L; [|discriminate]; specialize (LV _ _ _ _ L));
    try match type of G with context [match ?k with Transition => _ | Return => _ | Destroy => _ end] => destruct k end;
    try (destruct (accepts _ _ _));
    try (injection G as <-; split;
      [split; [views|apply same_lives; reflexivity]|intros e0 _ A; split; [exact A|reflexivity]]; fail).
  - (* TFence *)
    injection G as <-; split; [split; [|apply same_lives; reflexivity]|intros e0 _ A; split; [exact A|reflexivity]].
    cbn; apply upd_cur; intro; destruct (o_begin o); cbn; lia.
  - (* TName *)
    destruct P as (H & _). cbn [store] in G; injection G as <-; split; [split|].
    + cbn; apply upd_cur; intro; apply join_l.
    + intro e0; cbn; unfold upd; destruct (Nat.eqb_spec e e0) as [<-|]; [eauto|exists []; rewrite app_nil_r; reflexivity].
    + intros e0 _ A; cbn; destruct (Nat.eq_dec e0 e) as [->|N]; [rewrite H in A; discriminate|].
      rewrite !upd_other by assumption; auto.
  - (* TEnter *)
    injection G as <-; split; [split; [|apply same_lives; reflexivity]|intros e0 _ A; split; [exact A|reflexivity]].
    cbn; apply upd_cur; intro; destruct (o_handover o); cbn; lia.
  - (* TZero *)
    cbn [store] in G; injection G as <-; split; [split; [|apply same_lives; reflexivity]|].
    + cbn; apply upd_cur; intro; apply join_l.
    + intros e0 N A; apply Nat.eqb_neq in N; cbn; rewrite upd_other by congruence; auto.
  - (* TReadFence *)
    injection G as <-; split; [split; [|apply same_lives; reflexivity]|intros e0 _ A; split; [exact A|reflexivity]].
    cbn; apply upd_cur; intro; destruct (o_fence o); cbn; [apply join_l|lia].
Qed.

Lemma step_grows : forall s c s', state_ok s -> step fields o s c = Some s' ->
  grows s s' /\ forall e, ends s c e = false -> stays s s' e.
Proof.
  intros s c s' OK H; unfold step in H.
  destruct (dead (work s (actor c))) eqn:D; [discriminate|]; destruct c; cbn [actor] in D.
  - eapply go_grows; eauto.
  - unfold next in H; destruct (pc (work s t)); try discriminate; injection H as <-;
      (split; [split; [views|apply same_lives; reflexivity]|intros e0 _ A; split; [exact A|reflexivity]]).
  - unfold start in H; destruct (pc (work s t)); try discriminate; destruct b, (holder s e); try discriminate;
      try (destruct (t =? t0); [|discriminate]); injection H as <-;
      (split; [split; [views|apply same_lives; reflexivity]|intros e0 _ A; split; [exact A|reflexivity]]).
  - unfold give in H; destruct (pc (work s t)); try discriminate; destruct (holder s e) eqn:HO; try discriminate;
      destruct (t =? t0); try discriminate; injection H as <-;
      (split; [split; [views|apply same_lives; reflexivity]|]); intros e0 _ A; split; try reflexivity; cbn;
      (destruct (Nat.eq_dec e0 e) as [->|N]; [rewrite upd_here, HO in *; first [discriminate|reflexivity]
                                             |rewrite upd_other by assumption; assumption]).
  - unfold take in H; destruct (pc (work s t)); try discriminate; destruct (holder s e) eqn:HO; try discriminate;
      try (destruct (dead (work s t0)); [|discriminate]); injection H as <-;
      (split; [split; [views|apply same_lives; reflexivity]|]); intros e0 _ A; split; try reflexivity; cbn;
      (destruct (Nat.eq_dec e0 e) as [->|N]; [rewrite upd_here, HO in *; first [discriminate|reflexivity]
                                             |rewrite upd_other by assumption; assumption]).
  - injection H as <-; split; [split; [views|apply same_lives; reflexivity]|intros e0 _ A; split; [exact A|reflexivity]].
Qed.

Definition handle_ok (s : state) (h : handle) : Prop :=
  alive (holder s (h_entry h)) = true /\ life s (h_entry h) = h_life h
  /\ S (2 * h_life h) <= cur (th (work s (h_thread h))) (Id (h_entry h)).

Record wake_ok (w : wstate) : Prop := {
  wk_base : state_ok (base w);
  wk_handles : forall h, In h (handles w) -> handle_ok (base w) h;
  wk_wakes : forall x, In x (wakes w) -> nth_error (lives (base w) (w_entry x)) (w_life x) = Some (w_id x);
  wk_missed : missed w = 0
}.

Lemma handle_stays : forall s s' h, grows s s' -> stays s s' (h_entry h) -> handle_ok s h -> handle_ok s' h.
Proof.
  intros s s' h [C _] S (A & L & V); destruct (S A) as [A' L']; unfold handle_ok, life in *; rewrite L'.
  repeat split; auto. specialize (C (h_thread h) (Id (h_entry h))); lia.
Qed.

Lemma same_handle_eq : forall a b, same_handle a b = true -> a = b.
Proof.
  intros [a1 a2 a3] [b1 b2 b3] H; unfold same_handle in H; cbn in H.
  repeat (apply andb_true_iff in H; destruct H as [H ?]).
  repeat match goal with E : (_ =? _) = true |- _ => apply Nat.eqb_eq in E end; congruence.
Qed.

Lemma has_in : forall h hs, existsb (same_handle h) hs = true -> In h hs.
Proof.
  intros h hs H; apply existsb_exists in H; destruct H as (h' & I & E); apply same_handle_eq in E; congruence.
Qed.

(* A thread that does nothing else sees more. *)
Lemma sees_more : forall s t h, state_ok s ->
  (forall x, cur (th (work s t)) x <= cur h x) -> (forall x, rel (th (work s t)) x <= rel h x) ->
  state_ok (at_pc s t h TIdle) /\ grows s (at_pc s t h TIdle)
  /\ forall e, stays s (at_pc s t h TIdle) e.
Proof.
  intros s t h [K D] C R; split; [constructor|split; [split|]].
  - apply keep_at_pc; auto. exact Logic.I.
  - apply (ids_keep s); [assumption|reflexivity|reflexivity|].
    intros t' e i; cbn; destruct (Nat.eq_dec t' t) as [->|N]; [rewrite upd_here; discriminate|].
    rewrite upd_other by assumption; auto.
  - cbn; apply upd_cur; assumption.
  - apply same_lives; reflexivity.
  - intros e A; split; [exact A|reflexivity].
Qed.

(* What has an entry's coroutine has seen its id. *)
Lemma owner_saw : forall s e d, state_ok s -> holder s e = Alive d ->
  S (2 * life s e) <= cur (th (work s d)) (Id e).
Proof.
  intros s e d OK H; destruct (sh_entries _ _ _ (st_shape _ _ _ OK) e) as [K1 K2 _ _ _ _ K7 _].
  specialize (K7 (Id e) eq_refl); unfold covers, view_of in K7; rewrite H in *; cbn in K1, K2.
  specialize (K2 eq_refl); unfold life, nr in *; lia.
Qed.

(* The only id that a thread with a handle can load is that of the coroutine. *)
Lemma loads_id : forall s h a v th', state_ok s -> handle_ok s h ->
  load Relaxed (Id (h_entry h)) a (mem s) (th (work s (h_thread h))) = Some (v, th') ->
  v <> 0 /\ nth_error (lives s (h_entry h)) (h_life h) = Some v.
Proof.
  intros s h a v th' OK (A & L & V) LO.
  destruct (sh_entries _ _ _ (st_shape _ _ _ OK) (h_entry h)) as [K1 K2 _ K4 _ _ _ _].
  destruct (load_spec _ _ _ _ _ _ _ LO) as (x & N & -> & LE & _).
  pose proof (nth_lt _ _ _ N) as LT; rewrite A in K1; specialize (K2 A); unfold life, nr in *.
  assert (a = S (2 * h_life h)) as -> by lia. destruct (K4 _ _ N) as [NL _].
  split; [|assumption]. destruct (id_range _ (st_ids _ _ _ OK) _ _ _ NL); lia.
Qed.

Lemma get_more : forall s t v, (forall x, cur (th (work s t)) x <= cur (acquire (th (work s t)) v (o_multi o)) x)
  /\ (forall x, rel (th (work s t)) x <= rel (acquire (th (work s t)) v (o_multi o)) x).
Proof. intros s t v; split; intro x; cbn; [apply join_l|]. destruct (o_multi o); [apply join_l|lia]. Qed.

Lemma wstep_ok : forall w c w', wake_ok w -> wstep fields o true true w c = Some w' -> wake_ok w'.
Proof.
  intros w c w' [KB KH KW KM] H; destruct c as [c|d t e|h t|h a|h]; cbn [wstep] in H.
  - cbn [andb] in H; destruct (existsb _ _) eqn:EX; [discriminate|].
    destruct (step fields o (base w) c) as [s'|] eqn:S; [|discriminate]. injection H as <-.
    destruct (step_grows _ _ _ KB S) as [G ST].
    constructor; cbn; auto; [eapply step_ok; eauto| |].
    + intros h I; apply (handle_stays (base w)); auto. apply ST.
      destruct (ends (base w) c (h_entry h)) eqn:Z; [|reflexivity].
      assert (existsb (fun h => ends (base w) c (h_entry h)) (handles w) = true)
        by (apply existsb_exists; eauto). congruence.
    + intros x I; destruct G as [_ G]; destruct (G (w_entry x)) as (more & ->); apply nth_old; auto.
  - destruct (holder (base w) e) as [|d'|?|d'|?] eqn:HO; try discriminate.
    destruct (_ && _) eqn:B; [|discriminate]. injection H as <-.
    repeat (apply andb_true_iff in B; destruct B as [B ?]). apply Nat.eqb_eq in B; subst d'.
    destruct (get_more (base w) t (cur (th (work (base w) d)))) as [C R]; unfold get.
    destruct (sees_more (base w) t _ KB C R) as (OK & G & ST).
    constructor; cbn [base handles wakes missed]; auto.
    intros h [<-|I]; [|apply (handle_stays (base w)); auto].
    split; [cbn; rewrite HO; reflexivity|]; split; [reflexivity|]. cbn; rewrite upd_here; cbn.
    etransitivity; [apply (owner_saw _ _ _ KB HO)|apply join_r].
  - destruct (_ && _) eqn:B; [|discriminate]. injection H as <-.
    repeat (apply andb_true_iff in B; destruct B as [B ?]). apply has_in in B.
    destruct (KH _ B) as (A1 & A2 & A3).
    destruct (get_more (base w) t (cur (th (work (base w) (h_thread h))))) as [C R]; unfold get.
    destruct (sees_more (base w) t _ KB C R) as (OK & G & ST).
    constructor; cbn [base handles wakes missed]; auto.
    intros h' [<-|I]; [|apply (handle_stays (base w)); auto].
    split; [exact A1|]; split; [exact A2|]. cbn; rewrite upd_here; cbn.
    etransitivity; [exact A3|apply join_r].
  - destruct (_ && _) eqn:B; [|discriminate]. apply andb_true_iff in B; destruct B as [B _]; apply has_in in B.
    destruct (load _ _ _ _ _) as [[v th']|] eqn:L; [|discriminate].
    destruct (loads_id _ _ _ _ _ KB (KH _ B) L) as [NZ NL]. apply Nat.eqb_neq in NZ; rewrite NZ in H.
    injection H as <-. destruct (load_views _ _ _ _ _ _ _ L) as (C & _ & R).
    destruct (sees_more (base w) (h_thread h) th' KB C) as (OK & G & ST); [intro; rewrite R; lia|].
    constructor; cbn [base handles wakes missed]; auto.
    + intros h' I; apply (handle_stays (base w)); auto.
    + intros x [<-|I]; [exact NL|exact (KW x I)].
  - injection H as <-; constructor; cbn; auto. intros h' I; apply filter_In in I; apply KH, I.
Qed.

Lemma wrun_ok : forall cs w w', wake_ok w -> wrun fields o true true w cs = Some w' -> wake_ok w'.
Proof.
  induction cs as [|c cs IH]; cbn; intros w w' K H; [congruence|].
  destruct (wstep fields o true true w c) as [w1|] eqn:S; [|discriminate]. eapply IH; [|exact H]. eapply wstep_ok; eauto.
Qed.

(*
   A wake-up names the coroutine that was meant, whichever threads have it and whatever they do
   meanwhile: its id is neither that of the entry's coroutine before or after it, nor 0.
*)
Theorem wakes_name_their_target : forall cs w, wrun fields o true true wstate0 cs = Some w ->
  missed w = 0
  /\ forall x, In x (wakes w) -> nth_error (lives (base w) (w_entry x)) (w_life x) = Some (w_id x).
Proof.
  intros cs w R; assert (K : wake_ok w); [|split; [apply K|apply (wk_wakes _ K)]].
  eapply wrun_ok; [|exact R]. constructor; cbn; auto; try contradiction. apply state_ok0; assumption.
Qed.

End Theorems.
