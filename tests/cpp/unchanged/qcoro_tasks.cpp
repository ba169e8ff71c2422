// SPDX-License-Identifier: MIT
// qcoro_tasks.cpp - a QCoro program that does not know that it is traced: tasks that await timers.
#include <QCoreApplication>
#include <QTimer>

#include <chrono>
#include <cstdio>

#include <qcoro/qcorotask.h>
#include <qcoro/qcorotimer.h>

static QCoro::Task<int> after_a_timer(int value)
{
	QTimer timer;

	timer.setSingleShot(true);
	timer.start(std::chrono::milliseconds(1));
	co_await timer;
	co_return value;
}

static QCoro::Task<> adds()
{
	int sum = 0;

	for (int i = 1; i <= 5; i++)
		sum += co_await after_a_timer(i);
	std::printf("%s\n", sum == 15 ? "right" : "wrong");
	QCoreApplication::quit();
}

int main(int argc, char **argv)
{
	QCoreApplication app(argc, argv);

	QTimer::singleShot(0, [] { adds(); });
	return app.exec();
}
