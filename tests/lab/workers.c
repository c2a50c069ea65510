/* workers ROUNDS [SLOW_RANK]: rank 0 hands out tasks of random size to the rank that asks first; a round ends when
   all of its tasks are done. A slow rank computes twice as long on every task. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { TASKS = 12, ASK = 1, TASK = 2 };

static double compute(int size) {
    double value = 1;
    for (int i = 0; i < size * 40000; i++) value = value * 0.999999 + 1e-6;
    return value;
}

static void hand_out(int ranks) {
    double result;
    MPI_Status status;
    for (int left = TASKS + ranks - 1; left > 0; left--) {
        MPI_Recv(&result, 1, MPI_DOUBLE, MPI_ANY_SOURCE, ASK, MPI_COMM_WORLD, &status);
        int size = left >= ranks ? 50 + rand() % 100 : 0;
        MPI_Send(&size, 1, MPI_INT, status.MPI_SOURCE, TASK, MPI_COMM_WORLD);
    }
}

static double work(int times) {
    double result = 0;
    for (int size = 1; size > 0;) {
        MPI_Send(&result, 1, MPI_DOUBLE, 0, ASK, MPI_COMM_WORLD);
        MPI_Recv(&size, 1, MPI_INT, 0, TASK, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        result = compute(size * times);
    }
    return result;
}

int main(int argc, char **argv) {
    int rounds = atoi(argv[1]), slow = argc > 2 ? atoi(argv[2]) : -1, rank, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    srand(7);
    for (int round = 0; round < rounds; round++) {
        double result = 0, sum = 0;
        if (rank == 0)
            hand_out(ranks);
        else
            result = work(rank == slow ? 2 : 1);
        MPI_Allreduce(&result, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
