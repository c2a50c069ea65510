/* stencil STEPS [SLOW_RANK]: heat on a ring of strips. Each step exchanges rows with two neighbours and computes;
   each tenth step also sums the change over all ranks. A slow rank computes half as much again in every step. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 200, COLUMNS = 512 };

static double old[ROWS + 2][COLUMNS], new[ROWS + 2][COLUMNS];

static double relax(int rows) {
    double change = 0;
    for (int i = 1; i <= rows; i++)
        for (int j = 1; j < COLUMNS - 1; j++) {
            new[i][j] = 0.25 * (old[i - 1][j] + old[i + 1][j] + old[i][j - 1] + old[i][j + 1]);
            change += (new[i][j] - old[i][j]) * (new[i][j] - old[i][j]);
        }
    return change;
}

int main(int argc, char **argv) {
    int steps = atoi(argv[1]), slow = argc > 2 ? atoi(argv[2]) : -1, rank, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int above = (rank + ranks - 1) % ranks, below = (rank + 1) % ranks;
    for (int j = 0; j < COLUMNS; j++) old[ROWS / 2][j] = rank + j % 7;
    for (int step = 0; step < steps; step++) {
        MPI_Request requests[4];
        MPI_Irecv(old[0], COLUMNS, MPI_DOUBLE, above, 0, MPI_COMM_WORLD, &requests[0]);
        MPI_Irecv(old[ROWS + 1], COLUMNS, MPI_DOUBLE, below, 1, MPI_COMM_WORLD, &requests[1]);
        MPI_Isend(old[1], COLUMNS, MPI_DOUBLE, above, 1, MPI_COMM_WORLD, &requests[2]);
        MPI_Isend(old[ROWS], COLUMNS, MPI_DOUBLE, below, 0, MPI_COMM_WORLD, &requests[3]);
        MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
        double change = 0, sum = 0;
        for (int sweep = 0; sweep < 20; sweep++) change = relax(ROWS);
        if (rank == slow)
            for (int sweep = 0; sweep < 10; sweep++) change = relax(ROWS);
        for (int i = 1; i <= ROWS; i++)
            for (int j = 1; j < COLUMNS - 1; j++) old[i][j] = new[i][j];
        if (step % 10 == 9) MPI_Allreduce(&change, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        if (rank == 0 && step == steps - 1) printf("change %g\n", sum);
    }
    MPI_Finalize();
    return 0;
}
