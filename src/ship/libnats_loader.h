/* SPDX-License-Identifier: MIT */
/* libnats_loader.h - the functions of libnats in use, loaded on first use. */
#ifndef SHIP_LIBNATS_LOADER_H
#define SHIP_LIBNATS_LOADER_H

#include <nats/nats.h>

#include "base/dynlib.h"

#define LIBNATS_FUNCTIONS(X)             \
	X(jsCtx_Destroy)                 \
	X(jsOptions_Init)                \
	X(jsStreamConfig_Init)           \
	X(jsStreamInfo_Destroy)          \
	X(js_AddStream)                  \
	X(js_GetStreamInfo)              \
	X(natsConnection_Connect)        \
	X(natsConnection_Destroy)        \
	X(natsConnection_FlushTimeout)   \
	X(natsConnection_GetMaxPayload)  \
	X(natsConnection_JetStream)      \
	X(natsConnection_PublishMsg)     \
	X(natsConnection_Status)         \
	X(natsConnection_SubscribeSync)  \
	X(natsInbox_Create)              \
	X(natsInbox_Destroy)             \
	X(natsMsgHeader_Set)             \
	X(natsMsg_Create)                \
	X(natsMsg_Destroy)               \
	X(natsMsg_GetData)               \
	X(natsMsg_GetDataLength)         \
	X(natsMsg_GetSubject)            \
	X(natsOptions_Create)            \
	X(natsOptions_Destroy)           \
	X(natsOptions_SetAllowReconnect) \
	X(natsOptions_SetMaxPingsOut)    \
	X(natsOptions_SetName)           \
	X(natsOptions_SetPingInterval)   \
	X(natsOptions_SetServers)        \
	X(natsOptions_SetTimeout)        \
	X(natsOptions_SetUserInfo)       \
	X(natsOptions_SetWriteDeadline)  \
	X(natsStatus_GetText)            \
	X(natsSubscription_Destroy)      \
	X(natsSubscription_NextMsg)      \
	X(nats_GetLastError)             \
	X(js_DeleteConsumer)             \
	X(js_PullSubscribe)              \
	X(jsMsgMetaData_Destroy)         \
	X(jsSubOptions_Init)             \
	X(natsMsg_Ack)                   \
	X(natsMsg_GetMetaData)           \
	X(natsMsgList_Destroy)           \
	X(natsSubscription_Fetch)

struct libnats {
	DYNLIB_POINTERS(LIBNATS_FUNCTIONS)
};

extern struct libnats libnats;

/* Set the pointers of `libnats`; see dynlib_load(). */
int libnats_load(struct err *err);

#endif
