/* SPDX-License-Identifier: MIT */
/*
 * particles.h - the record of particles.c, before and after.
 *
 * The second one is the output of `corotracer mem layout` for the first.
 */
#ifndef PARTICLES_H
#define PARTICLES_H

#ifndef AFTER

struct particle {
	char name[24];
	double x, y, z;
	char history[72];
	double vx, vy, vz;
	int id;
	double mass;
	char comment[60];
	char alive;
};

#else

struct particle { /* 256 bytes, was 224 */
	/* hot */
	double x;  /* 0, 8 bytes, was at 24; 20.2 % of its accesses */
	double y;  /* 8, 8 bytes, was at 32; 20.2 % of its accesses */
	double z;  /* 16, 8 bytes, was at 40; 20.2 % of its accesses */
	double vx; /* 24, 8 bytes, was at 120; 11.0 % of its accesses */
	double vy; /* 32, 8 bytes, was at 128; 11.0 % of its accesses */
	double vz; /* 40, 8 bytes, was at 136; 11.0 % of its accesses */
	/* cold */
	double mass;      /* 48, 8 bytes, was at 152; 0.9 % of its accesses */
	int id;           /* 56, 4 bytes, was at 144; 1.8 % of its accesses */
	char name[24];    /* 60, 24 bytes, was at 0; 0.9 % of its accesses */
	char history[72]; /* 84, 72 bytes, was at 48; 0.9 % of its accesses */
	char comment[60]; /* 156, 60 bytes, was at 160; 0.9 % of its accesses */
	char alive;       /* 216, 1 bytes, was at 220; 0.9 % of its accesses */
} __attribute__((aligned(64)));

#endif
#endif
