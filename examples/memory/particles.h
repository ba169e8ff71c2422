/* SPDX-License-Identifier: MIT */
/*
 * particles.h - the record of particles.c, before and after.
 *
 * The second one is what `corotracer mem layout` printed for the first.
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

struct particle { /* 256 bytes, was 240 */
	/* hot */
	double x;       /* 0, 8 bytes, was at 24; 21.4 % of its accesses */
	double y;       /* 8, 8 bytes, was at 32; 21.4 % of its accesses */
	double z;       /* 16, 8 bytes, was at 40; 21.4 % of its accesses */
	double vx;      /* 24, 8 bytes, was at 120; 11.9 % of its accesses */
	double vy;      /* 32, 8 bytes, was at 128; 11.9 % of its accesses */
	double vz;      /* 40, 8 bytes, was at 136; 11.9 % of its accesses */
	/* cold */
	double mass;
	int id;
	char name[24];
	char history[72];
	char comment[60];
	char alive;
} __attribute__((aligned(64)));

#endif
#endif
